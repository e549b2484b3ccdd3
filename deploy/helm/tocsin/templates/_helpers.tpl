{{- define "tocsin.name" -}}
{{ printf "%s" .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "tocsin.image" -}}
{{- with .Values.image -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{- /* The labels that select the pods of a role: (dict "root" $ "role" "worker"). */}}
{{- define "tocsin.selector" -}}
app.kubernetes.io/name: tocsin
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "tocsin.labels" -}}
{{ include "tocsin.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "tocsin.configmap" -}}
{{ .Values.configuration.configMap | default (printf "%s-configuration" (include "tocsin.name" .)) }}
{{- end }}

{{- define "tocsin.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "tocsin.container" -}}
image: {{ include "tocsin.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- /* What each role mounts: (dict "root" $ "role" "worker" "files" NAME-OF-CONFIGMAP). */}}
{{- define "tocsin.mounts" -}}
- {name: configuration, mountPath: /etc/tocsin, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if index .root.Values.secrets .role }}
- {name: secrets, mountPath: /run/secrets, readOnly: true}
{{- end }}
{{- end }}

{{- define "tocsin.volumes" -}}
- name: configuration
  configMap: {name: {{ .files }}}
- name: tmp
  emptyDir: {medium: Memory, sizeLimit: 64Mi}
{{- with index .root.Values.secrets .role }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $name, $one := . }}
      - secret:
          name: {{ required (printf "secrets: %s: secret: name the Secret that holds it" $name) $one.secret }}
          items:
            - {key: {{ required (printf "secrets: %s: key: name the key in the Secret" $name) $one.key }}, path: {{ $name }}}
      {{- end }}
{{- end }}
{{- end }}

{{- /* Egress to a service of the cluster: (dict "peer" .Values.network.kafka). */}}
{{- define "tocsin.egress" -}}
- ports:
    {{- range .peer.ports }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with .peer.to }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "tocsin.dns" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
  to:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: {{ .Values.network.dns.namespace }}}}
      podSelector: {matchLabels: {{ toJson .Values.network.dns.labels }}}
{{- end }}
