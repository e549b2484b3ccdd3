(* What score.md claims, checked by a machine: Coq 8.16 or newer, the standard library, lia.

   Literals are numbered; x i is the step count of literal i. The integers are unbounded: that the
   code clamps to int64 without harm is argued in tslm.md and tested, not proved here. *)
From Coq Require Import ZArith Lia List.
Import ListNotations.
Open Scope Z_scope.

(* A monotone formula: NOT has been pushed down to the literals. *)
Inductive formula : Type :=
| Literal (i : nat)
| And (f g : formula)
| Or (f g : formula).

Fixpoint score (x : nat -> Z) (f : formula) : Z :=
  match f with
  | Literal i => x i
  | And f g => Z.min (score x f) (score x g)
  | Or f g => Z.max (score x f) (score x g)
  end.

Fixpoint holds (truth : nat -> Prop) (f : formula) : Prop :=
  match f with
  | Literal i => truth i
  | And f g => holds truth f /\ holds truth g
  | Or f g => holds truth f \/ holds truth g
  end.

Lemma score_reaches : forall x f t, score x f >= t <-> holds (fun i => x i >= t) f.
Proof.
  intros x f t; induction f as [i | f IHf g IHg | f IHf g IHg]; cbn.
  - lia.
  - rewrite <- IHf, <- IHg; lia.
  - rewrite <- IHf, <- IHg; lia.
Qed.

Lemma holds_monotone : forall (p q : nat -> Prop) f,
  (forall i, p i -> q i) -> holds p f -> holds q f.
Proof.
  intros p q f h; induction f as [i | f IHf g IHg | f IHf g IHg]; cbn.
  - apply h.
  - intros [hf hg]; split; auto.
  - intros [hf | hg]; auto.
Qed.

(* (a) The score is at least 0 exactly where the formula is true. *)
Theorem score_is_truth : forall x f, score x f >= 0 <-> holds (fun i => x i >= 0) f.
Proof. intros; apply score_reaches. Qed.

(* (b) Where the formula is false with every literal i granted its k_i steps, and k is no more
   than any of these, the score is at most -k. *)
Theorem score_beyond_tolerance : forall x f (ks : nat -> Z) k,
  (forall i, k <= ks i) ->
  ~ holds (fun i => x i > - ks i) f ->
  score x f <= - k.
Proof.
  intros x f ks k least false.
  destruct (Z_le_gt_dec (score x f) (- k)) as [h | h]; [exact h | exfalso].
  apply false.
  apply holds_monotone with (p := fun i => x i >= 1 - k).
  - intros i hi; specialize (least i); lia.
  - apply score_reaches; lia.
Qed.

(* What one neighbour does to the step count of a literal: floor((s - c) / D), or, where it is
   negated, floor((c - 1 - s) / D). *)
Lemma steps_rising : forall s s' c d,
  d > 0 -> Z.abs (s - s') <= d -> Z.abs ((s - c) / d - (s' - c) / d) <= 1.
Proof.
  intros s s' c d positive near.
  assert (h : (s - c) / d <= (s' - c) / d + 1).
  { rewrite <- Z.div_add by lia; apply Z.div_le_mono; lia. }
  assert (h' : (s' - c) / d <= (s - c) / d + 1).
  { rewrite <- Z.div_add by lia; apply Z.div_le_mono; lia. }
  lia.
Qed.

Lemma steps_falling : forall s s' c d,
  d > 0 -> Z.abs (s - s') <= d -> Z.abs ((c - 1 - s) / d - (c - 1 - s') / d) <= 1.
Proof.
  intros s s' c d positive near.
  replace (c - 1 - s) with ((c - 1 - s) - 0) by lia.
  replace (c - 1 - s') with ((c - 1 - s') - 0) by lia.
  apply steps_rising; lia.
Qed.

(* (c) The score moves by at most one, whatever moves, in whatever directions. *)
Theorem score_moves_one_step : forall x y f,
  (forall i, Z.abs (x i - y i) <= 1) -> Z.abs (score x f - score y f) <= 1.
Proof.
  intros x y f near; induction f as [i | f IHf g IHg | f IHf g IHg]; cbn.
  - apply near.
  - lia.
  - lia.
Qed.

(* (d) The j-th largest of a list, between two bounds that lie beyond what is asked about. *)
Fixpoint largest (low high : Z) (j : nat) (xs : list Z) : Z :=
  match j, xs with
  | O, _ => high
  | S _, [] => low
  | S i, x :: rest => Z.max (largest low high (S i) rest) (Z.min x (largest low high i rest))
  end.

Fixpoint reaching (t : Z) (xs : list Z) : nat :=
  match xs with
  | [] => O
  | x :: rest => if Z_ge_dec x t then S (reaching t rest) else reaching t rest
  end.

(* It is what its name says: it reaches t exactly where j members of the list do. *)
Theorem largest_counts : forall low high t, low < t -> t <= high ->
  forall xs j, largest low high j xs >= t <-> (j <= reaching t xs)%nat.
Proof.
  intros low high t below above xs; induction xs as [| x rest IH]; intros [| j].
  - cbn; lia.
  - cbn; lia.
  - cbn; lia.
  - cbn [largest reaching].
    pose proof (IH (S j)) as more; pose proof (IH j) as same.
    destruct (Z_ge_dec x t); lia.
Qed.

Theorem largest_moves_one_step : forall low high xs ys,
  Forall2 (fun x y => Z.abs (x - y) <= 1) xs ys ->
  forall j, Z.abs (largest low high j xs - largest low high j ys) <= 1.
Proof.
  intros low high xs ys near; induction near as [| x y xs ys one rest IH]; intros [| j].
  - cbn; lia.
  - cbn; lia.
  - cbn; lia.
  - cbn [largest].
    pose proof (IH (S j)) as more; pose proof (IH j) as same; lia.
Qed.

(* (e) The extremal curve p -> min(e p, 1 - (1 - p) / e), for p = a / m and e = n / d >= 1: the
   next probability is risen / (d n m). Neither outcome's odds pass e, in either direction; each
   inequality between fractions is written with its denominators multiplied out. *)
Definition risen (n d m a : Z) : Z := Z.min (n * n * a) (d * n * m - d * d * (m - a)).

Theorem curve_keeps_odds : forall n d m a,
  0 < d -> d <= n -> 0 < m -> 0 <= a <= m ->
  let b := risen n d m a in
  let whole := d * n * m in
  0 <= b <= whole                           (* it is a probability, *)
  /\ a * whole <= b * m                      (* no smaller than p; *)
  /\ d * b * m <= n * a * whole              (* p' <= e p *)
  /\ d * a * whole <= n * b * m              (* p <= e p' *)
  /\ d * (m - a) * whole <= n * (whole - b) * m     (* 1 - p <= e (1 - p') *)
  /\ d * (whole - b) * m <= n * (m - a) * whole.    (* 1 - p' <= e (1 - p) *)
Proof.
  intros n d m a hd hn hm ha b whole.
  assert (rises : a * (d * n) <= b).
  { assert (0 <= (n - d) * (n * a)) by (repeat apply Z.mul_nonneg_nonneg; lia).
    assert (0 <= (n - d) * (d * (m - a))) by (repeat apply Z.mul_nonneg_nonneg; lia).
    unfold b, risen; lia. }
  assert (first : b <= n * n * a) by (unfold b, risen; lia).
  assert (second : b <= whole - d * d * (m - a)) by (unfold b, risen, whole; lia).
  assert (at_least : 0 <= a * (d * n)) by (repeat apply Z.mul_nonneg_nonneg; lia).
  assert (at_most : 0 <= d * d * (m - a)) by (repeat apply Z.mul_nonneg_nonneg; lia).
  assert (up : a * whole <= b * m).
  { replace (a * whole) with (a * (d * n) * m) by (unfold whole; lia).
    apply Z.mul_le_mono_nonneg_r; lia. }
  assert (zero : 0 <= b * m) by (apply Z.mul_nonneg_nonneg; lia).
  assert (rest : 0 <= (whole - b) * m) by (apply Z.mul_nonneg_nonneg; lia).
  assert (down : (whole - b) * m <= (m - a) * whole) by lia.
  repeat split; try lia.
  - replace (n * a * whole) with (n * n * a * (d * m)) by (unfold whole; lia).
    replace (d * b * m) with (b * (d * m)) by lia.
    apply Z.mul_le_mono_nonneg_r; [repeat apply Z.mul_nonneg_nonneg; lia | lia].
  - assert (0 <= (n - d) * (b * m)) by (apply Z.mul_nonneg_nonneg; lia).
    assert (d * (a * whole) <= d * (b * m)) by (apply Z.mul_le_mono_nonneg_l; lia).
    lia.
  - replace (d * (m - a) * whole) with (d * d * (m - a) * (n * m)) by (unfold whole; lia).
    replace (n * (whole - b) * m) with ((whole - b) * (n * m)) by lia.
    apply Z.mul_le_mono_nonneg_r; [repeat apply Z.mul_nonneg_nonneg; lia | lia].
  - assert (0 <= (n - d) * ((m - a) * whole)) by (apply Z.mul_nonneg_nonneg; lia).
    assert (d * ((whole - b) * m) <= d * ((m - a) * whole)) by (apply Z.mul_le_mono_nonneg_l; lia).
    lia.
Qed.
