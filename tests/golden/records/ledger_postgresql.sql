CREATE TABLE public.tocsin_adopted (
    digest text NOT NULL,
    ledger_id text NOT NULL,
    sequence bigint NOT NULL,
    query text NOT NULL,
    start_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    scope text NOT NULL,
    outcome text NOT NULL,
    epsilon_units bigint NOT NULL,
    cells_per_unit bigint NOT NULL,
    loss_units bigint NOT NULL,
    periods text NOT NULL,
    alarm_count bigint NOT NULL,
    adopted_at_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_charges (
    query text NOT NULL,
    start_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    scope text NOT NULL,
    admission text NOT NULL,
    state text NOT NULL,
    fingerprint text NOT NULL,
    units bigint NOT NULL,
    cells bigint NOT NULL,
    cells_per_unit bigint NOT NULL,
    loss_units bigint NOT NULL,
    settled_units bigint,
    periods text NOT NULL,
    settled_loss_units bigint,
    costs bytea,
    in_run boolean DEFAULT false NOT NULL,
    held_units bigint
);
CREATE TABLE public.tocsin_compacted (
    scope text NOT NULL,
    period_ms bigint NOT NULL,
    final_units bigint NOT NULL
);
CREATE TABLE public.tocsin_decisions (
    query text NOT NULL,
    start_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    sequence bigint NOT NULL,
    outcome text NOT NULL,
    reason text,
    alarms bytea NOT NULL,
    alarm_count bigint NOT NULL,
    epsilon_units bigint NOT NULL,
    release_ms bigint NOT NULL,
    decided_at_ms bigint NOT NULL,
    published boolean NOT NULL,
    fingerprint text NOT NULL,
    archived boolean DEFAULT false NOT NULL
);
CREATE TABLE public.tocsin_gaps (
    query text NOT NULL,
    first_sequence bigint NOT NULL,
    last_sequence bigint NOT NULL,
    declared_at_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_ledger (
    id integer NOT NULL,
    ledger_id text NOT NULL,
    hash_key bytea NOT NULL,
    clock_ms bigint NOT NULL,
    created_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_links (
    scope text NOT NULL,
    link bigint NOT NULL,
    kind text NOT NULL,
    query text NOT NULL,
    start_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    told text,
    hash bytea NOT NULL
);
CREATE TABLE public.tocsin_logs (
    feed text NOT NULL,
    cluster_id text NOT NULL,
    topic_id text NOT NULL,
    topic text NOT NULL,
    partitions integer NOT NULL
);
CREATE TABLE public.tocsin_marks (
    feed text NOT NULL,
    partition integer NOT NULL,
    time_ms bigint NOT NULL,
    log_offset bigint NOT NULL
);
CREATE TABLE public.tocsin_partials (
    query text NOT NULL,
    start_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    partition integer NOT NULL,
    fingerprint text NOT NULL,
    topic_id text NOT NULL,
    complete boolean NOT NULL,
    cells bigint NOT NULL,
    cell_index bytea NOT NULL,
    cell_value bytea NOT NULL,
    first_offset bigint NOT NULL,
    last_offset bigint NOT NULL,
    digest text NOT NULL,
    conflicted boolean NOT NULL
);
ALTER TABLE ONLY public.tocsin_partials ALTER COLUMN cell_index SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.tocsin_partials ALTER COLUMN cell_value SET STORAGE EXTERNAL;
CREATE TABLE public.tocsin_queries (
    query text NOT NULL,
    scope text NOT NULL,
    feed text NOT NULL,
    fingerprint text NOT NULL,
    definition text NOT NULL,
    cursor_ms bigint NOT NULL,
    effective_from_ms bigint,
    retired boolean NOT NULL
);
CREATE TABLE public.tocsin_runs (
    query text NOT NULL,
    fingerprint text NOT NULL,
    periods text NOT NULL,
    open_units bigint NOT NULL,
    alarm_units bigint NOT NULL,
    "left" bigint NOT NULL,
    alarms_rung bigint NOT NULL,
    opened_start_ms bigint NOT NULL,
    last_start_ms bigint NOT NULL,
    state bytea NOT NULL
);
CREATE TABLE public.tocsin_scopes (
    scope text NOT NULL,
    unit text NOT NULL,
    epsilon_max_units bigint NOT NULL,
    period text NOT NULL,
    frontier_end_ms bigint,
    frontier_query text,
    frontier_start_ms bigint,
    settled_worst_units bigint NOT NULL,
    chain_link bigint DEFAULT 0 NOT NULL,
    chain_hash bytea DEFAULT '\x'::bytea NOT NULL,
    base_link bigint DEFAULT 0 NOT NULL,
    base_hash bytea DEFAULT '\x'::bytea NOT NULL,
    compacted_before_ms bigint,
    compacted_worst_units bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.tocsin_sequences (
    query text NOT NULL,
    last_sequence bigint NOT NULL
);
CREATE TABLE public.tocsin_shapes (
    query text NOT NULL,
    fingerprint text NOT NULL,
    region text NOT NULL,
    "grouping" text NOT NULL
);
CREATE TABLE public.tocsin_totals (
    scope text NOT NULL,
    period_ms bigint NOT NULL,
    held_units bigint NOT NULL,
    final_units bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.tocsin_version (
    version_num character varying(32) NOT NULL
);
INSERT INTO public.tocsin_adopted VALUES ('5e43e1c5672b721930a8d04dbbdae7ca', '00000000000000000000000000000000', 7, 'd', 0, 20, 'hand', 'decided', 1, 1, 1, '[]', 2, 1767225600000);
INSERT INTO public.tocsin_adopted VALUES ('241e940ca41483c8f68750bcd588419d', 'dc7ac396cafffc4086843e9498b780b1', 1, 'c', 0, 20, 'hand', 'denied', 0, 1, 0, '[]', 0, 1767225600000);
INSERT INTO public.tocsin_adopted VALUES ('81ea23b616030dd3042d2b891e7c052c', 'dc7ac396cafffc4086843e9498b780b1', 5, 'a', 40, 60, 'hand', 'decided', 2, 1, 2, '[]', 1, 1767225600000);
INSERT INTO public.tocsin_charges VALUES ('band', 7200000, 10800000, 'user', 'reserved', 'settled', '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', 250000000000, 3, 2, 500000000000, 250000000000, '[7200000]', 500000000000, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('crowd', 7200000, 10800000, 'user', 'reserved', 'settled', '5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85', 767528364332, 3, 2, 1535056728664, 767528364332, '[7200000]', 1535056728664, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('levels', 7200000, 10800000, 'user', 'reserved', 'settled', '8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68', 831889235479, 3, 2, 1663778470958, 831889235479, '[7200000]', 1663778470958, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('run', 7200000, 10800000, 'user', 'reserved', 'settled', '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', 1341065375733, 3, 1, 1341065375733, 1341065375733, '[7200000]', 1341065375733, NULL, true, 1341065375733);
INSERT INTO public.tocsin_charges VALUES ('band', 10800000, 14400000, 'user', 'reserved', 'settled', '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', 250000000000, 3, 2, 500000000000, 250000000000, '[7200000]', 500000000000, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('crowd', 10800000, 14400000, 'user', 'refused', 'released', '5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85', 767528364332, 3, 2, 1535056728664, NULL, '[7200000]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('levels', 10800000, 14400000, 'user', 'refused', 'released', '8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68', 831889235479, 3, 2, 1663778470958, NULL, '[7200000]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('run', 10800000, 14400000, 'user', 'refused', 'released', '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', 1341065375733, 3, 1, 1341065375733, NULL, '[7200000]', NULL, NULL, true, NULL);
INSERT INTO public.tocsin_charges VALUES ('band', 14400000, 18000000, 'user', 'reserved', 'settled', '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', 250000000000, 3, 2, 500000000000, 250000000000, '[14400000]', 500000000000, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('crowd', 14400000, 18000000, 'user', 'reserved', 'settled', 'd365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7', 767528364332, 3, 2, 1535056728664, 767528364332, '[14400000]', 1535056728664, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('run', 14400000, 18000000, 'user', 'reserved', 'settled', '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', 1341065375733, 3, 1, 1341065375733, 1341065375733, '[14400000]', 1341065375733, NULL, true, 1341065375733);
INSERT INTO public.tocsin_charges VALUES ('band', 18000000, 21600000, 'user', 'reserved', 'settled', '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', 250000000000, 3, 2, 500000000000, 250000000000, '[14400000]', 500000000000, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('crowd', 18000000, 21600000, 'user', 'reserved', 'settled', 'd365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7', 767528364332, 3, 2, 1535056728664, 767528364332, '[14400000]', 1535056728664, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('run', 18000000, 21600000, 'user', 'refused', 'released', '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', 1341065375733, 3, 1, 1341065375733, NULL, '[14400000]', NULL, NULL, true, NULL);
INSERT INTO public.tocsin_charges VALUES ('a', 0, 20, 'hand', 'reserved', 'settled', 'f1', 3, 4, 1, 3, 2, '[]', 2, '\x010104000000030000007801636080004628cd04a515260000011000b444f36de9b4dbd4c074129792dc39e8d5', false, NULL);
INSERT INTO public.tocsin_charges VALUES ('c', 0, 20, 'hand', 'refused', 'released', 'f1', 9, 4, 1, 9, NULL, '[]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('b', 0, 20, 'hand', 'reserved', 'released', 'f1', 4, 4, 1, 4, NULL, '[]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('b', 20, 40, 'hand', 'too_old', 'released', 'f1', 5, 4, 1, 5, NULL, '[]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('c', 20, 40, 'hand', 'reserved', 'reserved', 'f1', 5, 4, 1, 5, NULL, '[]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('a', 40, 60, 'hand', 'reserved', 'released', 'f1', 5, 4, 1, 5, NULL, '[]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('a', 20, 40, 'hand', 'reserved', 'spent', 'f1', 5, 4, 1, 5, NULL, '[]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_charges VALUES ('c', 40, 60, 'hand', 'reserved', 'reserved', 'f1', 6, 4, 1, 6, NULL, '[]', NULL, NULL, false, NULL);
INSERT INTO public.tocsin_compacted VALUES ('user', 0, 6315318683807);
INSERT INTO public.tocsin_decisions VALUES ('band', 7200000, 10800000, 3, 'decided', NULL, '\x5b7b22726f6f6d223a226c6162227d5d', 1, 250000000000, 10845000, 1767225600000, true, '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', false);
INSERT INTO public.tocsin_decisions VALUES ('crowd', 7200000, 10800000, 3, 'decided', NULL, '\x5b7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 2, 767528364332, 10845000, 1767225600000, true, '5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85', false);
INSERT INTO public.tocsin_decisions VALUES ('levels', 7200000, 10800000, 3, 'decided', NULL, '\x5b5d', 0, 831889235479, 10845000, 1767225600000, true, '8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68', false);
INSERT INTO public.tocsin_decisions VALUES ('run', 7200000, 10800000, 3, 'decided', NULL, '\x5b7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 2, 1341065375733, 10845000, 1767225600000, true, '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', false);
INSERT INTO public.tocsin_decisions VALUES ('band', 10800000, 14400000, 4, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 3, 250000000000, 14445000, 1767225600000, true, '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', false);
INSERT INTO public.tocsin_decisions VALUES ('crowd', 10800000, 14400000, 4, 'denied', 'budget', '\x', 0, 0, 14445000, 1767225600000, true, '5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85', false);
INSERT INTO public.tocsin_decisions VALUES ('levels', 10800000, 14400000, 4, 'denied', 'budget', '\x', 0, 0, 14445000, 1767225600000, true, '8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68', false);
INSERT INTO public.tocsin_decisions VALUES ('run', 10800000, 14400000, 4, 'denied', 'budget', '\x', 0, 0, 14445000, 1767225600000, true, '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', false);
INSERT INTO public.tocsin_decisions VALUES ('band', 14400000, 18000000, 5, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 3, 250000000000, 18045000, 1767225600000, true, '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', false);
INSERT INTO public.tocsin_decisions VALUES ('crowd', 14400000, 18000000, 5, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d5d', 2, 767528364332, 18045000, 1767225600000, true, 'd365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7', false);
INSERT INTO public.tocsin_decisions VALUES ('run', 14400000, 18000000, 5, 'decided', NULL, '\x7b226669726564223a5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d5d2c226c617465223a5b5d2c22756e616e737765726564223a317d', 2, 1341065375733, 18045000, 1767225600000, true, '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', false);
INSERT INTO public.tocsin_decisions VALUES ('band', 18000000, 21600000, 6, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 3, 250000000000, 21645000, 1767225600000, true, '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', false);
INSERT INTO public.tocsin_decisions VALUES ('crowd', 18000000, 21600000, 6, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a226c6162227d5d', 2, 767528364332, 21645000, 1767225600000, true, 'd365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7', false);
INSERT INTO public.tocsin_decisions VALUES ('run', 18000000, 21600000, 6, 'denied', 'budget', '\x', 0, 0, 21645000, 1767225600000, true, '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', false);
INSERT INTO public.tocsin_decisions VALUES ('crowd', 3600000, 7200000, 2, 'decided', NULL, '\x', 1, 767528364332, 7245000, 1767225600000, true, '5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85', true);
INSERT INTO public.tocsin_decisions VALUES ('crowd', 0, 3600000, 1, 'decided', NULL, '\x', 0, 767528364332, 3645000, 1767225600000, true, '5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85', true);
INSERT INTO public.tocsin_decisions VALUES ('levels', 3600000, 7200000, 2, 'denied', 'budget', '\x', 0, 0, 7245000, 1767225600000, true, '8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68', true);
INSERT INTO public.tocsin_decisions VALUES ('levels', 0, 3600000, 1, 'decided', NULL, '\x', 0, 831889235479, 3645000, 1767225600000, true, '8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68', true);
INSERT INTO public.tocsin_decisions VALUES ('run', 3600000, 7200000, 2, 'denied', 'budget', '\x', 0, 0, 7245000, 1767225600000, true, '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', true);
INSERT INTO public.tocsin_decisions VALUES ('band', 0, 3600000, 1, 'decided', NULL, '\x', 3, 250000000000, 3645000, 1767225600000, true, '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', true);
INSERT INTO public.tocsin_decisions VALUES ('band', 3600000, 7200000, 2, 'decided', NULL, '\x', 2, 250000000000, 7245000, 1767225600000, true, '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', true);
INSERT INTO public.tocsin_decisions VALUES ('run', 0, 3600000, 1, 'decided', NULL, '\x', 0, 581426755521, 3645000, 1767225600000, true, '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', true);
INSERT INTO public.tocsin_decisions VALUES ('b', 0, 20, 1, 'denied', 'incomplete', '\x', 0, 0, 20, 1767225600000, false, 'f1', false);
INSERT INTO public.tocsin_decisions VALUES ('a', 0, 20, 1, 'decided', NULL, '\x5b5d', 0, 3, 20, 1767225600000, true, 'f1', false);
INSERT INTO public.tocsin_gaps VALUES ('a', 2, 5, 1767225600000);
INSERT INTO public.tocsin_gaps VALUES ('c', 1, 1, 1767225600000);
INSERT INTO public.tocsin_ledger VALUES (1, 'dc7ac396cafffc4086843e9498b780b1', '\xc22154f5a172d7171941824fc45b2f7fedba538cdd8f13c72b9584f43bb70a55', 1767225600000, 1767225600000);
INSERT INTO public.tocsin_links VALUES ('user', 21, 'ended', 'band', 7200000, 10800000, NULL, '\xf0148efc396cf646c8980d0ce5edb5eb');
INSERT INTO public.tocsin_links VALUES ('user', 22, 'served', 'crowd', 7200000, 10800000, NULL, '\x53e96f8da8fa4a1f4ffdea3f3713aa72');
INSERT INTO public.tocsin_links VALUES ('user', 23, 'ended', 'crowd', 7200000, 10800000, NULL, '\xb378a96bfa56c9fc0b08d04190850126');
INSERT INTO public.tocsin_links VALUES ('user', 24, 'served', 'levels', 7200000, 10800000, NULL, '\xc321132c244a450f4cf6f131b87aa5c5');
INSERT INTO public.tocsin_links VALUES ('user', 25, 'ended', 'levels', 7200000, 10800000, NULL, '\x9823a1904272888f67712fe12172c6c5');
INSERT INTO public.tocsin_links VALUES ('user', 26, 'served', 'run', 7200000, 10800000, NULL, '\x36f72adf9993b3556f3db41fe67afcdb');
INSERT INTO public.tocsin_links VALUES ('user', 27, 'ended', 'run', 7200000, 10800000, NULL, '\xcb6ad977aac56e5aea75151d5bd6791e');
INSERT INTO public.tocsin_links VALUES ('user', 28, 'served', 'band', 10800000, 14400000, NULL, '\x850e72194d865fd467244f90541c731e');
INSERT INTO public.tocsin_links VALUES ('user', 29, 'ended', 'band', 10800000, 14400000, NULL, '\xeef9cba4bdb8b7388d286ad5c07716d5');
INSERT INTO public.tocsin_links VALUES ('user', 30, 'ended', 'crowd', 10800000, 14400000, NULL, '\xb2345421194a1944299749df3b37112c');
INSERT INTO public.tocsin_links VALUES ('user', 31, 'ended', 'levels', 10800000, 14400000, NULL, '\xa8e9604acedf56129e395dbc8bdf862a');
INSERT INTO public.tocsin_links VALUES ('user', 32, 'ended', 'run', 10800000, 14400000, NULL, '\xaf0b686585af673ac134e823154cf800');
INSERT INTO public.tocsin_links VALUES ('user', 33, 'state', '', 0, 1, '{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"04d7719512c48378c2357173b50a76b5","base":[0,"a728387c15bca831b4c547e2e0f2e629"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}', '\xcd5145484d6b8f982a957c5c64b81d3a');
INSERT INTO public.tocsin_links VALUES ('user', 34, 'served', 'band', 14400000, 18000000, NULL, '\x6f3238ae44897c308a1d2f2af83d5374');
INSERT INTO public.tocsin_links VALUES ('user', 35, 'ended', 'band', 14400000, 18000000, NULL, '\x98147e7aa2fd9aab3b83706900a5ec07');
INSERT INTO public.tocsin_links VALUES ('user', 36, 'served', 'crowd', 14400000, 18000000, NULL, '\x8a35e2868e0e7d590920acf5a14b456a');
INSERT INTO public.tocsin_links VALUES ('user', 37, 'ended', 'crowd', 14400000, 18000000, NULL, '\xacc18c2f51071bf804eb928e642dea71');
INSERT INTO public.tocsin_links VALUES ('user', 38, 'served', 'run', 14400000, 18000000, NULL, '\x054d81319a35985dc31d73f30a9fb620');
INSERT INTO public.tocsin_links VALUES ('user', 39, 'ended', 'run', 14400000, 18000000, NULL, '\xfc4cdca93b70ed683c5081bd807834ba');
INSERT INTO public.tocsin_links VALUES ('user', 40, 'served', 'band', 18000000, 21600000, NULL, '\xd8535af3e88bb9b311fee5c0a36e531f');
INSERT INTO public.tocsin_links VALUES ('user', 41, 'ended', 'band', 18000000, 21600000, NULL, '\xfcb8d93a8ff093eced7f16f8a345b73d');
INSERT INTO public.tocsin_links VALUES ('user', 42, 'served', 'crowd', 18000000, 21600000, NULL, '\x3f4ed175df80ab17feaa983740f5e45e');
INSERT INTO public.tocsin_links VALUES ('user', 43, 'ended', 'crowd', 18000000, 21600000, NULL, '\xf02af070884a9ffbc65576beafd9fc2c');
INSERT INTO public.tocsin_links VALUES ('user', 44, 'ended', 'run', 18000000, 21600000, NULL, '\xf14e9a3e7142327b72fb9d19e490c994');
INSERT INTO public.tocsin_links VALUES ('user', 45, 'state', '', 0, 1, '{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"04d7719512c48378c2357173b50a76b5","base":[20,"a132d17ec9ab806f88e89acadc5d99b9"],"compacted":[7200000,0],"left":"279a3e84308d65fe44e75766619e80a6","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}', '\xfeb90f7a481459c8c2f156b06cf4b1c4');
INSERT INTO public.tocsin_links VALUES ('hand', 1, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}', '\xa844c4a91b336e81fef50059647bec80');
INSERT INTO public.tocsin_links VALUES ('hand', 2, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"d0e12c941be298b4658514715eb6ab84","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}', '\x603061823f6691152c0a224a7098a54c');
INSERT INTO public.tocsin_links VALUES ('hand', 3, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"38b4788d381876a3f645340c0ef967a3","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}', '\x8aa7240d3f8a339bddf5e0c03f794ac4');
INSERT INTO public.tocsin_links VALUES ('hand', 4, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"6c2a4950517306d2001b2b7507a0de77","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}', '\x9d2ba345bbf7a2c32e9300d3bd345eb0');
INSERT INTO public.tocsin_links VALUES ('hand', 5, 'served', 'a', 0, 20, NULL, '\x640507ee1363f674f251755ce651e3b0');
INSERT INTO public.tocsin_links VALUES ('hand', 6, 'served', 'b', 0, 20, NULL, '\x81776c81c6723c92ce3408dff7ad34da');
INSERT INTO public.tocsin_links VALUES ('hand', 7, 'served', 'c', 0, 20, NULL, '\x8db1cc8f7f9c9b5dc7df614c671cfd94');
INSERT INTO public.tocsin_links VALUES ('hand', 8, 'ended', 'a', 0, 20, NULL, '\x6bfaca324c11891224394ee0bccf8ef4');
INSERT INTO public.tocsin_links VALUES ('hand', 9, 'ended', 'c', 0, 20, NULL, '\xd8895340971f2a1af0051566e111bdbb');
INSERT INTO public.tocsin_links VALUES ('hand', 10, 'ended', 'b', 0, 20, NULL, '\x913b8d8899a0fe266e368dead371652e');
INSERT INTO public.tocsin_links VALUES ('hand', 11, 'served', 'a', 20, 40, NULL, '\xd9f64888847f09b7fde26ac81a50a1ab');
INSERT INTO public.tocsin_links VALUES ('hand', 12, 'ended', 'b', 20, 40, NULL, '\xa775ee9a01c2de2cb220c3d20bb6b8c5');
INSERT INTO public.tocsin_links VALUES ('hand', 13, 'served', 'c', 20, 40, NULL, '\xf2026cdde25208d07d025222457e51c8');
INSERT INTO public.tocsin_links VALUES ('hand', 14, 'served', 'a', 40, 60, NULL, '\x435e1381d69cc8e84ec4ded07246e327');
INSERT INTO public.tocsin_links VALUES ('hand', 15, 'served', 'c', 40, 60, NULL, '\x0451dfcc60b12d8086407cb83e73372e');
INSERT INTO public.tocsin_links VALUES ('hand', 16, 'adopted', 'd', 0, 20, '5e43e1c5672b721930a8d04dbbdae7ca', '\x82f4a929f7058de52b7bd1e3d0e965dd');
INSERT INTO public.tocsin_links VALUES ('hand', 17, 'adopted', 'c', 0, 20, '241e940ca41483c8f68750bcd588419d', '\x17adb10448d0613c92d09d7c087a9056');
INSERT INTO public.tocsin_links VALUES ('hand', 18, 'adopted', 'a', 40, 60, '81ea23b616030dd3042d2b891e7c052c', '\x90aec4edd689582d157a566ead10b120');
INSERT INTO public.tocsin_links VALUES ('hand', 19, 'ended', 'a', 40, 60, NULL, '\xc2bc9e790437921ba34e0e3263343fdd');
INSERT INTO public.tocsin_links VALUES ('hand', 20, 'ended', 'a', 20, 40, NULL, '\x682d8a2befc888700c7b7670c356acd8');
INSERT INTO public.tocsin_logs VALUES ('badges', 'replay', 'replay:badges', 'building.badges', 1);
INSERT INTO public.tocsin_logs VALUES ('feed', 'cluster', 'topic-1', 'topic', 2);
INSERT INTO public.tocsin_marks VALUES ('feed', 0, 60000, 17);
INSERT INTO public.tocsin_marks VALUES ('feed', 1, 60000, 21);
INSERT INTO public.tocsin_partials VALUES ('b', 20, 40, 0, 'f1', 'topic-1', true, 4, '\x00000000000000000100000000000000', '\x03000000000000000100000000000000', 7, 9, '488538cb88f2ea33275bdb7832c35411', false);
INSERT INTO public.tocsin_partials VALUES ('b', 20, 40, 1, 'f1', 'topic-1', true, 4, '\x00000000000000000100000000000000', '\x02000000000000000000000000000000', 7, 9, 'df67bf43bd65003fea02d6c49743d4b6', true);
INSERT INTO public.tocsin_queries VALUES ('levels', 'user', 'badges', '8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68', '{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"apportion":"optimal","first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"refine":"gradual","tolerances":[6]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"b7603fffa56c1ac3ddbdb145e56d3f8c2e18886f20b15c5379ea8252ae553855","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"ppwlm","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"levels","schema":2,"where":null}', 14400000, NULL, true);
INSERT INTO public.tocsin_queries VALUES ('run', 'user', 'badges', '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', '{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"alarms":2,"apportion":"optimal","first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"monotone":true,"put_back":false,"questions":1,"refine":"gradual","terms":[581426755521,379819310106,-3],"tolerances":[9]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"b4e6b12b60deb6ad475dea1e5879362ca5c31e3db11d2bea18f30e1ce9807682","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"svt","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"run","schema":2,"where":null}', 21600000, NULL, false);
INSERT INTO public.tocsin_queries VALUES ('crowd', 'user', 'badges', 'd365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7', '{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"apportion":"optimal","first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"refine":"gradual","tolerances":[5]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"7cc0d5de4f06307066a92e8207a68c16051cae350ab89b785dc25c196cabc0ec","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"tslm","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"crowd","schema":2,"where":null}', 21600000, 14400000, false);
INSERT INTO public.tocsin_queries VALUES ('band', 'user', 'badges', '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', '{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"apportion":"optimal","first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"refine":"gradual","tolerances":[0,0]},"band":{"decider":"tight","epsilon":"1/4","references":"32c896187dc58b4f747f166ef11e6344c1f3088b3db41c51ab44dfb34474a1d5","tau":20},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"e517b919371baf18e51b2786ba35ab9178036f58bdde73d777f0e7c4b3dc4919","statistic":0},{"atom":"a2","sha256":"2ae882bdd85d121dee1dadd7030c39714f4bf70205da5ddb73615f88d45776f3","statistic":0}],"cells":3,"formula":"a1 OR NOT a2","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"decider","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"band","schema":2,"where":null}', 21600000, NULL, false);
INSERT INTO public.tocsin_queries VALUES ('b', 'hand', 'feed', 'f1', '{}', 20, NULL, false);
INSERT INTO public.tocsin_queries VALUES ('a', 'hand', 'feed', 'f1', '{}', 60, NULL, false);
INSERT INTO public.tocsin_queries VALUES ('c', 'hand', 'feed', 'f1', '{}', 20, NULL, false);
INSERT INTO public.tocsin_runs VALUES ('run', '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', '[14400000]', 581426755521, 379819310106, 0, 2, 14400000, 14400000, '\x9601000002cf000000875fbc37c1c400');
INSERT INTO public.tocsin_scopes VALUES ('hand', 'event', 10, '', 60, 'c', 40, 5, 20, '\x682d8a2befc888700c7b7670c356acd8', 0, '\x9485a8f4309cc5fd4aba5d413500b005', NULL, 0);
INSERT INTO public.tocsin_scopes VALUES ('user', 'user', 6500000000000, 'tumbling windows of 2 hours', 21600000, 'run', 18000000, 0, 45, '\xfeb90f7a481459c8c2f156b06cf4b1c4', 20, '\xa132d17ec9ab806f88e89acadc5d99b9', 7200000, 0);
INSERT INTO public.tocsin_sequences VALUES ('levels', 4);
INSERT INTO public.tocsin_sequences VALUES ('band', 6);
INSERT INTO public.tocsin_sequences VALUES ('crowd', 6);
INSERT INTO public.tocsin_sequences VALUES ('run', 6);
INSERT INTO public.tocsin_sequences VALUES ('b', 1);
INSERT INTO public.tocsin_sequences VALUES ('a', 5);
INSERT INTO public.tocsin_sequences VALUES ('c', 1);
INSERT INTO public.tocsin_shapes VALUES ('crowd', '5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO public.tocsin_shapes VALUES ('levels', '8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO public.tocsin_shapes VALUES ('run', '119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO public.tocsin_shapes VALUES ('band', '68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO public.tocsin_shapes VALUES ('crowd', 'd365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO public.tocsin_shapes VALUES ('a', 'f1', '{}', 'by a');
INSERT INTO public.tocsin_shapes VALUES ('b', 'f1', '{}', 'by b');
INSERT INTO public.tocsin_shapes VALUES ('c', 'f1', '{}', 'by c');
INSERT INTO public.tocsin_totals VALUES ('user', 0, 6315318683807, 6315318683807);
INSERT INTO public.tocsin_totals VALUES ('user', 7200000, 5539900575355, 5539900575355);
INSERT INTO public.tocsin_totals VALUES ('user', 14400000, 5411178833061, 5411178833061);
INSERT INTO public.tocsin_version VALUES ('0003');
ALTER TABLE ONLY public.tocsin_adopted
    ADD CONSTRAINT tocsin_adopted_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.tocsin_charges
    ADD CONSTRAINT tocsin_charges_pkey PRIMARY KEY (query, start_ms, end_ms);
ALTER TABLE ONLY public.tocsin_compacted
    ADD CONSTRAINT tocsin_compacted_pkey PRIMARY KEY (scope, period_ms);
ALTER TABLE ONLY public.tocsin_decisions
    ADD CONSTRAINT tocsin_decisions_pkey PRIMARY KEY (query, start_ms, end_ms);
ALTER TABLE ONLY public.tocsin_decisions
    ADD CONSTRAINT tocsin_decisions_query_sequence_key UNIQUE (query, sequence);
ALTER TABLE ONLY public.tocsin_gaps
    ADD CONSTRAINT tocsin_gaps_pkey PRIMARY KEY (query, first_sequence);
ALTER TABLE ONLY public.tocsin_ledger
    ADD CONSTRAINT tocsin_ledger_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tocsin_links
    ADD CONSTRAINT tocsin_links_pkey PRIMARY KEY (scope, link);
ALTER TABLE ONLY public.tocsin_logs
    ADD CONSTRAINT tocsin_logs_pkey PRIMARY KEY (feed);
ALTER TABLE ONLY public.tocsin_marks
    ADD CONSTRAINT tocsin_marks_pkey PRIMARY KEY (feed, partition, time_ms);
ALTER TABLE ONLY public.tocsin_partials
    ADD CONSTRAINT tocsin_partials_pkey PRIMARY KEY (query, start_ms, end_ms, partition);
ALTER TABLE ONLY public.tocsin_queries
    ADD CONSTRAINT tocsin_queries_pkey PRIMARY KEY (query);
ALTER TABLE ONLY public.tocsin_runs
    ADD CONSTRAINT tocsin_runs_pkey PRIMARY KEY (query);
ALTER TABLE ONLY public.tocsin_scopes
    ADD CONSTRAINT tocsin_scopes_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY public.tocsin_sequences
    ADD CONSTRAINT tocsin_sequences_pkey PRIMARY KEY (query);
ALTER TABLE ONLY public.tocsin_shapes
    ADD CONSTRAINT tocsin_shapes_pkey PRIMARY KEY (query, fingerprint);
ALTER TABLE ONLY public.tocsin_totals
    ADD CONSTRAINT tocsin_totals_pkey PRIMARY KEY (scope, period_ms);
ALTER TABLE ONLY public.tocsin_version
    ADD CONSTRAINT tocsin_version_pkc PRIMARY KEY (version_num);
CREATE INDEX tocsin_adopted_by_end ON public.tocsin_adopted USING btree (scope, end_ms);
CREATE INDEX tocsin_adopted_by_window ON public.tocsin_adopted USING btree (query, start_ms);
CREATE INDEX tocsin_charges_by_end ON public.tocsin_charges USING btree (scope, end_ms);
CREATE INDEX tocsin_charges_open ON public.tocsin_charges USING btree (scope) WHERE (state = 'reserved'::text);
CREATE INDEX tocsin_charges_pending ON public.tocsin_charges USING btree (scope) WHERE (state = 'pending'::text);
CREATE INDEX tocsin_decisions_outbox ON public.tocsin_decisions USING btree (query, sequence) WHERE (NOT published);
CREATE INDEX tocsin_links_by_window ON public.tocsin_links USING btree (query, start_ms, end_ms);
CREATE INDEX tocsin_links_told ON public.tocsin_links USING btree (scope, link) WHERE (told IS NOT NULL);
ALTER TABLE ONLY public.tocsin_adopted
    ADD CONSTRAINT tocsin_adopted_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_charges
    ADD CONSTRAINT tocsin_charges_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_charges
    ADD CONSTRAINT tocsin_charges_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_compacted
    ADD CONSTRAINT tocsin_compacted_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_decisions
    ADD CONSTRAINT tocsin_decisions_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_links
    ADD CONSTRAINT tocsin_links_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_partials
    ADD CONSTRAINT tocsin_partials_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_queries
    ADD CONSTRAINT tocsin_queries_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_runs
    ADD CONSTRAINT tocsin_runs_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_shapes
    ADD CONSTRAINT tocsin_shapes_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_totals
    ADD CONSTRAINT tocsin_totals_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
