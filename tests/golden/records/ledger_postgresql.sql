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
    adopted_at_ms bigint NOT NULL,
    draw text
);
CREATE TABLE public.tocsin_archives (
    query text NOT NULL,
    first_sequence bigint NOT NULL,
    last_sequence bigint NOT NULL,
    file text NOT NULL,
    hash bytea NOT NULL,
    seen bytea NOT NULL,
    tallies text NOT NULL,
    digest bytea NOT NULL
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
    settled_loss_units bigint,
    costs bytea,
    periods text NOT NULL,
    in_run boolean NOT NULL,
    held_units bigint,
    windows_per_period bigint
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
    archived boolean NOT NULL,
    next_start_ms bigint,
    run_digest bytea,
    alarms_digest bytea,
    hash bytea NOT NULL
);
CREATE TABLE public.tocsin_drawn (
    query text NOT NULL,
    period_ms bigint NOT NULL,
    held_units bigint NOT NULL,
    final_units bigint NOT NULL
);
CREATE TABLE public.tocsin_files (
    feed text NOT NULL,
    digest text NOT NULL,
    first_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_gaps (
    query text NOT NULL,
    first_sequence bigint NOT NULL,
    last_sequence bigint NOT NULL,
    declared_at_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_growths (
    feed text NOT NULL,
    partitions integer NOT NULL,
    before integer NOT NULL,
    from_ms bigint NOT NULL,
    until_ms bigint,
    announced_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_journal (
    entry text NOT NULL,
    times bigint NOT NULL,
    last_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_ledger (
    id integer NOT NULL,
    ledger_id text NOT NULL,
    hash_key bytea NOT NULL,
    clock_ms bigint NOT NULL,
    created_ms bigint NOT NULL,
    schema_version text NOT NULL
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
    log_offset bigint NOT NULL,
    digest bytea NOT NULL
);
CREATE TABLE public.tocsin_noisy (
    query text NOT NULL,
    start_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    fingerprint text NOT NULL,
    kept_from_ms bigint NOT NULL,
    counts bytea NOT NULL
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
CREATE TABLE public.tocsin_places (
    feed text NOT NULL,
    partition integer NOT NULL,
    log_offset bigint NOT NULL,
    stand text NOT NULL,
    still_since_ms bigint NOT NULL,
    seen_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_queries (
    query text NOT NULL,
    scope text NOT NULL,
    feed text NOT NULL,
    fingerprint text NOT NULL,
    definition text NOT NULL,
    cursor_ms bigint NOT NULL,
    effective_from_ms bigint,
    retired boolean NOT NULL,
    placed_ms bigint NOT NULL
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
    chain_link bigint NOT NULL,
    chain_hash bytea NOT NULL,
    base_link bigint NOT NULL,
    base_hash bytea NOT NULL,
    compacted_before_ms bigint,
    compacted_worst_units bigint NOT NULL,
    promise text
);
CREATE TABLE public.tocsin_sequences (
    query text NOT NULL,
    last_sequence bigint NOT NULL,
    hash bytea NOT NULL,
    base_sequence bigint NOT NULL,
    base_hash bytea NOT NULL,
    moved_sequence bigint NOT NULL,
    moved_hash bytea NOT NULL,
    archives_digest bytea NOT NULL
);
CREATE TABLE public.tocsin_shapes (
    query text NOT NULL,
    fingerprint text NOT NULL,
    region text NOT NULL,
    "grouping" text NOT NULL
);
CREATE TABLE public.tocsin_shares (
    query text NOT NULL,
    scope text NOT NULL,
    share_units bigint NOT NULL
);
CREATE TABLE public.tocsin_tallies (
    query text NOT NULL,
    outcome text NOT NULL,
    reason text NOT NULL,
    windows bigint NOT NULL,
    last_ms bigint NOT NULL
);
CREATE TABLE public.tocsin_totals (
    scope text NOT NULL,
    period_ms bigint NOT NULL,
    held_units bigint NOT NULL,
    final_units bigint NOT NULL
);
CREATE TABLE public.tocsin_used (
    query text NOT NULL,
    partition integer NOT NULL,
    start_ms bigint NOT NULL,
    fingerprint text NOT NULL,
    topic_id text NOT NULL,
    state bytea NOT NULL,
    digest bytea NOT NULL
);
CREATE TABLE public.tocsin_writers (
    writer text NOT NULL,
    releases bigint NOT NULL,
    started_ms bigint NOT NULL
);
INSERT INTO public.tocsin_adopted VALUES ('5e43e1c5672b721930a8d04dbbdae7ca', '00000000000000000000000000000000', 7, 'd', 0, 20, 'hand', 'decided', 1, 1, 1, '[]', 2, 1767225600000, NULL);
INSERT INTO public.tocsin_adopted VALUES ('241e940ca41483c8f68750bcd588419d', 'dc7ac396cafffc4086843e9498b780b1', 1, 'c', 0, 20, 'hand', 'denied', 0, 1, 0, '[]', 0, 1767225600000, NULL);
INSERT INTO public.tocsin_adopted VALUES ('81ea23b616030dd3042d2b891e7c052c', 'dc7ac396cafffc4086843e9498b780b1', 5, 'a', 40, 60, 'hand', 'decided', 2, 1, 2, '[]', 1, 1767225600000, NULL);
INSERT INTO public.tocsin_charges VALUES ('band', 7200000, 10800000, 'user', 'reserved', 'settled', '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', 250000000000, 3, 2, 500000000000, 250000000000, 500000000000, NULL, '[7200000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('crowd', 7200000, 10800000, 'user', 'reserved', 'settled', '3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8', 767528364332, 3, 2, 1535056728664, 767528364332, 1535056728664, NULL, '[7200000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('levels', 7200000, 10800000, 'user', 'reserved', 'settled', '7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04', 831889235479, 3, 2, 1663778470958, 831889235479, 1663778470958, '\x010003000000020000008096980000000000175e76b0c1000000a01e0ba973b77c1d5b348a133af4562b2c', '[7200000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('run', 7200000, 10800000, 'user', 'reserved', 'settled', 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', 1341065375733, 3, 1, 1341065375733, 1341065375733, 1341065375733, NULL, '[7200000]', true, 1341065375733, NULL);
INSERT INTO public.tocsin_charges VALUES ('band', 10800000, 14400000, 'user', 'reserved', 'settled', '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', 250000000000, 3, 2, 500000000000, 250000000000, 500000000000, NULL, '[7200000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('crowd', 10800000, 14400000, 'user', 'refused', 'released', '3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8', 767528364332, 3, 2, 1535056728664, NULL, NULL, NULL, '[7200000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('levels', 10800000, 14400000, 'user', 'refused', 'released', '7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04', 831889235479, 3, 2, 1663778470958, NULL, NULL, NULL, '[7200000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('run', 10800000, 14400000, 'user', 'refused', 'released', 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', 1341065375733, 3, 1, 1341065375733, NULL, NULL, NULL, '[7200000]', true, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('band', 14400000, 18000000, 'user', 'reserved', 'settled', '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', 250000000000, 3, 2, 500000000000, 250000000000, 500000000000, NULL, '[14400000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('crowd', 14400000, 18000000, 'user', 'reserved', 'settled', '0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121', 767528364332, 3, 2, 1535056728664, 767528364332, 1535056728664, NULL, '[14400000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('run', 14400000, 18000000, 'user', 'reserved', 'settled', 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', 1341065375733, 3, 1, 1341065375733, 1341065375733, 1341065375733, NULL, '[14400000]', true, 1341065375733, NULL);
INSERT INTO public.tocsin_charges VALUES ('band', 18000000, 21600000, 'user', 'reserved', 'settled', '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', 250000000000, 3, 2, 500000000000, 250000000000, 500000000000, NULL, '[14400000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('crowd', 18000000, 21600000, 'user', 'reserved', 'settled', '0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121', 767528364332, 3, 2, 1535056728664, 767528364332, 1535056728664, NULL, '[14400000]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('run', 18000000, 21600000, 'user', 'refused', 'released', 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', 1341065375733, 3, 1, 1341065375733, NULL, NULL, NULL, '[14400000]', true, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('a', 0, 20, 'hand', 'reserved', 'settled', 'f1', 3, 4, 1, 3, 2, 2, '\x010104000000030000007801636080004628cd04a515260000011000b444f36de9b4dbd4c074129792dc39e8d5', '[]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('c', 0, 20, 'hand', 'refused', 'released', 'f1', 9, 4, 1, 9, NULL, NULL, NULL, '[]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('b', 0, 20, 'hand', 'reserved', 'released', 'f1', 4, 4, 1, 4, NULL, NULL, NULL, '[]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('b', 20, 40, 'hand', 'too_old', 'released', 'f1', 5, 4, 1, 5, NULL, NULL, NULL, '[]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('c', 20, 40, 'hand', 'reserved', 'reserved', 'f1', 5, 4, 1, 5, NULL, NULL, NULL, '[]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('a', 40, 60, 'hand', 'reserved', 'released', 'f1', 5, 4, 1, 5, NULL, NULL, NULL, '[]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('a', 20, 40, 'hand', 'reserved', 'spent', 'f1', 5, 4, 1, 5, NULL, NULL, NULL, '[]', false, NULL, NULL);
INSERT INTO public.tocsin_charges VALUES ('c', 40, 60, 'hand', 'reserved', 'reserved', 'f1', 6, 4, 1, 6, NULL, NULL, NULL, '[]', false, NULL, NULL);
INSERT INTO public.tocsin_compacted VALUES ('user', 0, 5539900575355);
INSERT INTO public.tocsin_decisions VALUES ('band', 7200000, 10800000, 3, 'decided', NULL, '\x5b7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 2, 250000000000, 10845000, 1767225600000, true, '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', false, 10800000, NULL, NULL, '\x00b7add4a985ea1bf26401372b95a221');
INSERT INTO public.tocsin_decisions VALUES ('crowd', 7200000, 10800000, 3, 'decided', NULL, '\x5b7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 2, 767528364332, 10845000, 1767225600000, true, '3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8', false, 10800000, NULL, NULL, '\x4fa452be0dff3db4e2bcc75ff63b52d0');
INSERT INTO public.tocsin_decisions VALUES ('levels', 7200000, 10800000, 3, 'decided', NULL, '\x5b7b22726f6f6d223a2268616c6c227d5d', 1, 831889235479, 10845000, 1767225600000, true, '7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04', false, 10800000, NULL, NULL, '\xb8c8070bab4ab636a320c744c091a137');
INSERT INTO public.tocsin_decisions VALUES ('run', 7200000, 10800000, 3, 'decided', NULL, '\x5b7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 2, 1341065375733, 10845000, 1767225600000, true, 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', false, 10800000, '\xad92b29db4ac9444943a4e19896f9647', NULL, '\x2dcaf42ea09f4d680e3d5efa8c83487c');
INSERT INTO public.tocsin_decisions VALUES ('band', 10800000, 14400000, 4, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 3, 250000000000, 14445000, 1767225600000, true, '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', false, 14400000, NULL, NULL, '\x08a696d5dbf2160b6d39c2e5f278a324');
INSERT INTO public.tocsin_decisions VALUES ('crowd', 10800000, 14400000, 4, 'denied', 'budget', '\x', 0, 0, 14445000, 1767225600000, true, '3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8', false, 14400000, NULL, NULL, '\x947d2305fbbb259d68a4eafc0a5efb8b');
INSERT INTO public.tocsin_decisions VALUES ('levels', 10800000, 14400000, 4, 'denied', 'budget', '\x', 0, 0, 14445000, 1767225600000, true, '7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04', false, 14400000, NULL, NULL, '\x2c7a1ac616f6bd2cc6e3236794bab5ca');
INSERT INTO public.tocsin_decisions VALUES ('run', 10800000, 14400000, 4, 'denied', 'budget', '\x', 0, 0, 14445000, 1767225600000, true, 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', false, 14400000, NULL, NULL, '\x8eff35759f2139b7d9e744829d3ad649');
INSERT INTO public.tocsin_decisions VALUES ('band', 14400000, 18000000, 5, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 3, 250000000000, 18045000, 1767225600000, true, '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', false, 18000000, NULL, NULL, '\xae1036c0510a6d238452d39dc7af07c5');
INSERT INTO public.tocsin_decisions VALUES ('crowd', 14400000, 18000000, 5, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d5d', 2, 767528364332, 18045000, 1767225600000, true, '0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121', false, 18000000, NULL, NULL, '\x6709c9835a8eb0eed1ab7159a34f16ed');
INSERT INTO public.tocsin_decisions VALUES ('run', 14400000, 18000000, 5, 'decided', NULL, '\x7b226669726564223a5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d5d2c226c617465223a5b5d2c22756e616e737765726564223a317d', 2, 1341065375733, 18045000, 1767225600000, true, 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', false, 18000000, '\xd060b6ce72d8076bbe40255c939d77f0', NULL, '\x29fc4b43a6381941811010c21a616bde');
INSERT INTO public.tocsin_decisions VALUES ('band', 18000000, 21600000, 6, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a2268616c6c227d2c7b22726f6f6d223a226c6162227d5d', 3, 250000000000, 21645000, 1767225600000, true, '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', false, 21600000, NULL, NULL, '\x535b55aa4f6b41ed91487f92bbdeb60e');
INSERT INTO public.tocsin_decisions VALUES ('crowd', 18000000, 21600000, 6, 'decided', NULL, '\x5b7b22726f6f6d223a226174746963227d2c7b22726f6f6d223a226c6162227d5d', 2, 767528364332, 21645000, 1767225600000, true, '0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121', false, 21600000, NULL, NULL, '\xc5617f2c0e42de4aa9bcb8fc1a1e0c9a');
INSERT INTO public.tocsin_decisions VALUES ('run', 18000000, 21600000, 6, 'denied', 'budget', '\x', 0, 0, 21645000, 1767225600000, true, 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', false, 21600000, NULL, NULL, '\x860f4e6e62db6d7171b717005298efdf');
INSERT INTO public.tocsin_decisions VALUES ('band', 0, 3600000, 1, 'decided', NULL, '\x', 3, 250000000000, 3645000, 1767225600000, true, '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', true, 3600000, NULL, '\x2be68d4a550e66d63dbe9d8b9aeddef6', '\x62526aeb850cb3d5ae597057cda6cb3c');
INSERT INTO public.tocsin_decisions VALUES ('crowd', 0, 3600000, 1, 'decided', NULL, '\x', 0, 767528364332, 3645000, 1767225600000, true, '3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8', true, 3600000, NULL, '\x7ebb3c7c2a87b1a2f8a7ed729ecb040d', '\x1383667aec4a2e93f7411df23ce19b7f');
INSERT INTO public.tocsin_decisions VALUES ('levels', 0, 3600000, 1, 'decided', NULL, '\x', 0, 831889235479, 3645000, 1767225600000, true, '7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04', true, 3600000, NULL, '\x7ebb3c7c2a87b1a2f8a7ed729ecb040d', '\xfbef466e036cf1b60072d4e41fd4c234');
INSERT INTO public.tocsin_decisions VALUES ('run', 0, 3600000, 1, 'decided', NULL, '\x', 0, 581426755521, 3645000, 1767225600000, true, 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', true, 3600000, '\x630c04388d67a87630c6fcbc258d4372', '\x7ebb3c7c2a87b1a2f8a7ed729ecb040d', '\xdff92b9e5966a41b2aae1eb9ca86ba02');
INSERT INTO public.tocsin_decisions VALUES ('band', 3600000, 7200000, 2, 'decided', NULL, '\x', 2, 250000000000, 7245000, 1767225600000, true, '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', true, 7200000, NULL, '\xf92e7040c43505e3d8587f1aa3e9074d', '\x1a2ff3a8541d9c27ec80f0c744897984');
INSERT INTO public.tocsin_decisions VALUES ('run', 3600000, 7200000, 2, 'decided', NULL, '\x', 2, 759638620212, 7245000, 1767225600000, true, 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', true, 7200000, '\x204a11c6502af6b1ac88244f898ea428', '\xf92e7040c43505e3d8587f1aa3e9074d', '\x08f69058c536d5f3cc9f111bbc335b48');
INSERT INTO public.tocsin_decisions VALUES ('crowd', 3600000, 7200000, 2, 'denied', 'budget', '\x', 0, 0, 7245000, 1767225600000, true, '3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8', true, 7200000, NULL, '\xcae66941d9efbd404e4d88758ea67670', '\x12aa2651cc33071a0915aa78b1b5145d');
INSERT INTO public.tocsin_decisions VALUES ('levels', 3600000, 7200000, 2, 'denied', 'budget', '\x', 0, 0, 7245000, 1767225600000, true, '7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04', true, 7200000, NULL, '\xcae66941d9efbd404e4d88758ea67670', '\x9e5dad782292a9ececa5b011b9806d17');
INSERT INTO public.tocsin_decisions VALUES ('b', 0, 20, 1, 'denied', 'incomplete', '\x', 0, 0, 20, 1767225600000, false, 'f1', false, 20, NULL, NULL, '\xbb4cf1e66b5befb1bb4fa1839a32f8a3');
INSERT INTO public.tocsin_decisions VALUES ('a', 0, 20, 1, 'decided', NULL, '\x5b5d', 0, 3, 20, 1767225600000, true, 'f1', false, 20, NULL, NULL, '\x9da27d36a9f535c981dbca338adecfa1');
INSERT INTO public.tocsin_files VALUES ('badges', '36e7b3adc6ffe1813bbdff113754c2b1fa75790d00074ec6627a149dc0f05efc', 1767225600000);
INSERT INTO public.tocsin_gaps VALUES ('a', 2, 5, 1767225600000);
INSERT INTO public.tocsin_gaps VALUES ('c', 1, 1, 1767225600000);
INSERT INTO public.tocsin_ledger VALUES (1, 'dc7ac396cafffc4086843e9498b780b1', '\xc22154f5a172d7171941824fc45b2f7fedba538cdd8f13c72b9584f43bb70a55', 1767225600000, 1767225600000, '1');
INSERT INTO public.tocsin_links VALUES ('user', 23, 'ended', 'band', 7200000, 10800000, NULL, '\xd55976507a9a2bee1cd2aa47d9a5d5fd');
INSERT INTO public.tocsin_links VALUES ('user', 24, 'served', 'crowd', 7200000, 10800000, NULL, '\xf346920d3eb98d09ba6c95321c29be5d');
INSERT INTO public.tocsin_links VALUES ('user', 25, 'ended', 'crowd', 7200000, 10800000, NULL, '\xf04e3c64fa248c7b8872223b3a155742');
INSERT INTO public.tocsin_links VALUES ('user', 26, 'served', 'levels', 7200000, 10800000, NULL, '\xe69e05ea2350d00b7ff4bda7337145de');
INSERT INTO public.tocsin_links VALUES ('user', 27, 'ended', 'levels', 7200000, 10800000, NULL, '\xf7bc40396b4d6b78d20401744cfc8977');
INSERT INTO public.tocsin_links VALUES ('user', 28, 'served', 'run', 7200000, 10800000, NULL, '\x6646a76518da6d13d2a9b9a96db88e4c');
INSERT INTO public.tocsin_links VALUES ('user', 29, 'ended', 'run', 7200000, 10800000, NULL, '\x3b51e96a46333839e087815c34b6557b');
INSERT INTO public.tocsin_links VALUES ('user', 30, 'served', 'band', 10800000, 14400000, NULL, '\x5c17cf2c07fc233e2b3e54e6c70477e1');
INSERT INTO public.tocsin_links VALUES ('user', 31, 'ended', 'band', 10800000, 14400000, NULL, '\x8a75a45151ddba3a40155a09fdf4a370');
INSERT INTO public.tocsin_links VALUES ('user', 32, 'ended', 'crowd', 10800000, 14400000, NULL, '\x5cf87a66dd52cbfd9b83407826548c70');
INSERT INTO public.tocsin_links VALUES ('user', 33, 'decided', 'crowd', 10800000, 14400000, NULL, '\x9f4c6bca013cce065d0601b6c993c192');
INSERT INTO public.tocsin_links VALUES ('user', 34, 'ended', 'levels', 10800000, 14400000, NULL, '\x98960ed398af37e867539d428eadbf2e');
INSERT INTO public.tocsin_links VALUES ('user', 35, 'decided', 'levels', 10800000, 14400000, NULL, '\xb7ecd6ef7ef061d7b47a17092bf43688');
INSERT INTO public.tocsin_links VALUES ('user', 36, 'ended', 'run', 10800000, 14400000, NULL, '\x7f988f474ab4d3898064f9c7eff615a5');
INSERT INTO public.tocsin_links VALUES ('user', 37, 'decided', 'run', 10800000, 14400000, NULL, '\x85fbd8c7c48094aae9ffd21ea2ae48c6');
INSERT INTO public.tocsin_links VALUES ('user', 38, 'state', '', 0, 1, '{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"8ece5ea7bf01ecde7cab0b5191f773b6","base":[0,"a728387c15bca831b4c547e2e0f2e629"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"8a587438235838025602c6b102da4ae5","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"5537334c060bda656927c108ace5b775"}', '\x29af6d1520c51c6253cefa71ed504c82');
INSERT INTO public.tocsin_links VALUES ('user', 39, 'state', '', 0, 1, '{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"ed44a948def309c8d567127c17f77a82","base":[0,"a728387c15bca831b4c547e2e0f2e629"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"5546df9a9250413455ee3ff24baedee1","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"5537334c060bda656927c108ace5b775"}', '\xdbfdc339eb1c132e8318bf48e72df183');
INSERT INTO public.tocsin_links VALUES ('user', 40, 'served', 'band', 14400000, 18000000, NULL, '\xa9111cc59bf0ff5878f179c92e79c256');
INSERT INTO public.tocsin_links VALUES ('user', 41, 'ended', 'band', 14400000, 18000000, NULL, '\xf450e674ce687a5027fd67f9aedb5698');
INSERT INTO public.tocsin_links VALUES ('user', 42, 'served', 'crowd', 14400000, 18000000, NULL, '\xa427d752a765200abb0dcd715d5ecaec');
INSERT INTO public.tocsin_links VALUES ('user', 43, 'ended', 'crowd', 14400000, 18000000, NULL, '\x21efa163436a2c650881054db110df3e');
INSERT INTO public.tocsin_links VALUES ('user', 44, 'served', 'run', 14400000, 18000000, NULL, '\xcc95916f6bd3afabceddba4f853d05b0');
INSERT INTO public.tocsin_links VALUES ('user', 45, 'ended', 'run', 14400000, 18000000, NULL, '\x756420b804160ca2e80845717d8ccf78');
INSERT INTO public.tocsin_links VALUES ('user', 46, 'served', 'band', 18000000, 21600000, NULL, '\xe0ac59cc14bdb8c6019e713ee80e3ce6');
INSERT INTO public.tocsin_links VALUES ('user', 47, 'ended', 'band', 18000000, 21600000, NULL, '\xd17261885c6f6efbaf11ceffeb3d4cf7');
INSERT INTO public.tocsin_links VALUES ('user', 48, 'served', 'crowd', 18000000, 21600000, NULL, '\x8e98794925b9d615c181d723b0c82692');
INSERT INTO public.tocsin_links VALUES ('user', 49, 'ended', 'crowd', 18000000, 21600000, NULL, '\xe9c2c539516541b6c7fbe3e779526333');
INSERT INTO public.tocsin_links VALUES ('user', 50, 'ended', 'run', 18000000, 21600000, NULL, '\xb07c4224592096696e52234d2b3747ff');
INSERT INTO public.tocsin_links VALUES ('user', 51, 'decided', 'run', 18000000, 21600000, NULL, '\x5fdffc9549c21f314e5f245aa554b7d6');
INSERT INTO public.tocsin_links VALUES ('user', 52, 'state', '', 0, 1, '{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"ed44a948def309c8d567127c17f77a82","base":[22,"f9abd799d0596093fb9b7544176c6781"],"compacted":[7200000,0],"left":"1f46742b3aa170810d5876d309fab0bb","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"5546df9a9250413455ee3ff24baedee1","decided":"f7e990c23f75af04728fd5b24da1ecf8","pins":"5537334c060bda656927c108ace5b775"}', '\x60ca623c3e43d337d5275fc372d4dd72');
INSERT INTO public.tocsin_links VALUES ('hand', 1, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":""}', '\x65857c3eae20739024732d19e741cdb7');
INSERT INTO public.tocsin_links VALUES ('user', 53, 'state', '', 0, 1, '{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"ed44a948def309c8d567127c17f77a82","base":[22,"f9abd799d0596093fb9b7544176c6781"],"compacted":[7200000,0],"left":"1f46742b3aa170810d5876d309fab0bb","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"5546df9a9250413455ee3ff24baedee1","decided":"f7e990c23f75af04728fd5b24da1ecf8","pins":"6086a8494df39397b46aec3c1db82472"}', '\xd70072d2fbf60111ad6d6ff86ebecb00');
INSERT INTO public.tocsin_links VALUES ('hand', 2, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"d0e12c941be298b4658514715eb6ab84","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"b25946c7afbb0fc0b35ba532b1f5e5d9","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"6086a8494df39397b46aec3c1db82472"}', '\x2e095d0aed8c9a8576a710f9388266ac');
INSERT INTO public.tocsin_links VALUES ('hand', 3, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"38b4788d381876a3f645340c0ef967a3","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"123fc0d0f48b83fb5467dac47d1a2e57","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"6086a8494df39397b46aec3c1db82472"}', '\xb14bf1d1319adb421e9e28133eb31535');
INSERT INTO public.tocsin_links VALUES ('hand', 4, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"6c2a4950517306d2001b2b7507a0de77","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"950552af6c758c654e80a774d72a87ad","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"6086a8494df39397b46aec3c1db82472"}', '\x73c6e7637604f8607299963bc0491072');
INSERT INTO public.tocsin_links VALUES ('hand', 5, 'served', 'a', 0, 20, NULL, '\x1e2960c910034f602b15c02b427dcce2');
INSERT INTO public.tocsin_links VALUES ('hand', 6, 'served', 'b', 0, 20, NULL, '\x3b42c4d3c72ba61506c330c1a515a0dc');
INSERT INTO public.tocsin_links VALUES ('hand', 7, 'served', 'c', 0, 20, NULL, '\x9da6daae4b79ee1565e0aa2c93c6aec0');
INSERT INTO public.tocsin_links VALUES ('hand', 8, 'ended', 'a', 0, 20, NULL, '\x9361a56eeee237fb5a5a384c78a240b5');
INSERT INTO public.tocsin_links VALUES ('hand', 9, 'ended', 'c', 0, 20, NULL, '\xcb168c9cd7d280944125dcc00daac1c5');
INSERT INTO public.tocsin_links VALUES ('hand', 10, 'ended', 'b', 0, 20, NULL, '\x512e691b6f1ae27abab83f9e7551e778');
INSERT INTO public.tocsin_links VALUES ('hand', 11, 'served', 'a', 20, 40, NULL, '\x19ec8254851af942ffa6816c9973aa5e');
INSERT INTO public.tocsin_links VALUES ('hand', 12, 'ended', 'b', 20, 40, NULL, '\xb79bc379217776178e11cd25110ce7e9');
INSERT INTO public.tocsin_links VALUES ('hand', 13, 'served', 'c', 20, 40, NULL, '\x295f0fd1cf4e6798f9d44b2474c9a2b9');
INSERT INTO public.tocsin_links VALUES ('hand', 14, 'served', 'a', 40, 60, NULL, '\x53d24ddecf913986eb1c969044c2c092');
INSERT INTO public.tocsin_links VALUES ('hand', 15, 'served', 'c', 40, 60, NULL, '\xebb0050c486174385c351509e4f57d7a');
INSERT INTO public.tocsin_links VALUES ('hand', 16, 'adopted', 'd', 0, 20, '5e43e1c5672b721930a8d04dbbdae7ca', '\xcf5c82224a925a889fd3b993e814f4c8');
INSERT INTO public.tocsin_links VALUES ('hand', 17, 'adopted', 'c', 0, 20, '241e940ca41483c8f68750bcd588419d', '\xd012827a8530cf41553e7019564652f9');
INSERT INTO public.tocsin_links VALUES ('hand', 18, 'adopted', 'a', 40, 60, '81ea23b616030dd3042d2b891e7c052c', '\x487c562655358745991dc241e32afa77');
INSERT INTO public.tocsin_links VALUES ('hand', 19, 'ended', 'a', 40, 60, NULL, '\x6f6c1b3bf4e603d5ac4fd9029150f969');
INSERT INTO public.tocsin_links VALUES ('hand', 20, 'ended', 'a', 20, 40, NULL, '\xd882368019556dedcc93b5af6846e723');
INSERT INTO public.tocsin_links VALUES ('hand', 21, 'state', '', 0, 1, '{"terms":["event",10,""],"shapes":"6c2a4950517306d2001b2b7507a0de77","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"d054928cfce3e324b25ad1aed7142c79","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"9d22829dceba076b74b92e2576871386"}', '\x102cdbebb9d18a0c0c78bd70cc6ecac6');
INSERT INTO public.tocsin_links VALUES ('user', 54, 'state', '', 0, 1, '{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"ed44a948def309c8d567127c17f77a82","base":[22,"f9abd799d0596093fb9b7544176c6781"],"compacted":[7200000,0],"left":"1f46742b3aa170810d5876d309fab0bb","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"5546df9a9250413455ee3ff24baedee1","decided":"f7e990c23f75af04728fd5b24da1ecf8","pins":"9d22829dceba076b74b92e2576871386"}', '\x4b55486cd76732f0df694a81bd8cca17');
INSERT INTO public.tocsin_logs VALUES ('badges', 'replay', 'replay:badges', 'building.badges', 1);
INSERT INTO public.tocsin_logs VALUES ('feed', 'cluster', 'topic-1', 'topic', 2);
INSERT INTO public.tocsin_marks VALUES ('feed', 0, 60000, 17, '\xfccf56db0310db89');
INSERT INTO public.tocsin_marks VALUES ('feed', 1, 60000, 21, '\x262b6b500a0dc599');
INSERT INTO public.tocsin_partials VALUES ('b', 20, 40, 0, 'f1', 'topic-1', true, 4, '\x00000000000000000100000000000000', '\x03000000000000000100000000000000', 7, 9, '488538cb88f2ea33275bdb7832c35411', false);
INSERT INTO public.tocsin_partials VALUES ('b', 20, 40, 1, 'f1', 'topic-1', true, 4, '\x00000000000000000100000000000000', '\x02000000000000000000000000000000', 7, 9, 'f24244bd9596ffa64b72696b79888d66', true);
INSERT INTO public.tocsin_queries VALUES ('levels', 'user', 'badges', '7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04', '{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"tolerances":[6]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"b7603fffa56c1ac3ddbdb145e56d3f8c2e18886f20b15c5379ea8252ae553855","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"ppwlm","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"levels","schema":3,"where":null}', 14400000, NULL, true, 0);
INSERT INTO public.tocsin_queries VALUES ('run', 'user', 'badges', 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', '{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"alarms":2,"first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"monotone":true,"put_back":false,"questions":1,"terms":[581426755521,379819310106,-3],"tolerances":[9]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"b4e6b12b60deb6ad475dea1e5879362ca5c31e3db11d2bea18f30e1ce9807682","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"svt","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"run","schema":3,"where":null}', 21600000, NULL, false, 0);
INSERT INTO public.tocsin_queries VALUES ('crowd', 'user', 'badges', '0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121', '{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"tolerances":[5]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"7cc0d5de4f06307066a92e8207a68c16051cae350ab89b785dc25c196cabc0ec","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"tslm","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"crowd","schema":3,"where":null}', 21600000, 14400000, false, 0);
INSERT INTO public.tocsin_queries VALUES ('band', 'user', 'badges', '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', '{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"tolerances":[0,0]},"band":{"decider":"tight","epsilon":"1/4","references":"32c896187dc58b4f747f166ef11e6344c1f3088b3db41c51ab44dfb34474a1d5","tau":20},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"e517b919371baf18e51b2786ba35ab9178036f58bdde73d777f0e7c4b3dc4919","statistic":0},{"atom":"a2","sha256":"2ae882bdd85d121dee1dadd7030c39714f4bf70205da5ddb73615f88d45776f3","statistic":0}],"cells":3,"formula":"a1 OR NOT a2","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"decider","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"band","schema":3,"where":null}', 21600000, NULL, false, 0);
INSERT INTO public.tocsin_queries VALUES ('b', 'hand', 'feed', 'f1', '{}', 20, NULL, false, 0);
INSERT INTO public.tocsin_queries VALUES ('a', 'hand', 'feed', 'f1', '{}', 60, NULL, false, 60);
INSERT INTO public.tocsin_queries VALUES ('c', 'hand', 'feed', 'f1', '{}', 20, NULL, false, 20);
INSERT INTO public.tocsin_runs VALUES ('run', 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', '[14400000]', 581426755521, 379819310106, 0, 2, 14400000, 14400000, '\x9601000002cf000000875fbc37c1c400');
INSERT INTO public.tocsin_scopes VALUES ('hand', 'event', 10, '', 60, 'c', 40, 5, 21, '\x102cdbebb9d18a0c0c78bd70cc6ecac6', 0, '\x9485a8f4309cc5fd4aba5d413500b005', NULL, 0, NULL);
INSERT INTO public.tocsin_scopes VALUES ('user', 'user', 6500000000000, 'tumbling windows of 2 hours', 21600000, 'run', 18000000, 0, 54, '\x4b55486cd76732f0df694a81bd8cca17', 22, '\xf9abd799d0596093fb9b7544176c6781', 7200000, 0, NULL);
INSERT INTO public.tocsin_sequences VALUES ('band', 6, '\x535b55aa4f6b41ed91487f92bbdeb60e', 2, '\x1a2ff3a8541d9c27ec80f0c744897984', 0, '\x', '\x');
INSERT INTO public.tocsin_sequences VALUES ('crowd', 6, '\xc5617f2c0e42de4aa9bcb8fc1a1e0c9a', 2, '\x12aa2651cc33071a0915aa78b1b5145d', 0, '\x', '\x');
INSERT INTO public.tocsin_sequences VALUES ('levels', 4, '\x2c7a1ac616f6bd2cc6e3236794bab5ca', 2, '\x9e5dad782292a9ececa5b011b9806d17', 0, '\x', '\x');
INSERT INTO public.tocsin_sequences VALUES ('run', 6, '\x860f4e6e62db6d7171b717005298efdf', 2, '\x08f69058c536d5f3cc9f111bbc335b48', 0, '\x', '\x');
INSERT INTO public.tocsin_sequences VALUES ('b', 1, '\xbb4cf1e66b5befb1bb4fa1839a32f8a3', 0, '\x', 0, '\x', '\x');
INSERT INTO public.tocsin_sequences VALUES ('a', 5, '\x9da27d36a9f535c981dbca338adecfa1', 0, '\x', 0, '\x', '\x');
INSERT INTO public.tocsin_sequences VALUES ('c', 1, '\x6ca2de3c9e6a40e1b5f1cdb7eafa18a3', 0, '\x', 0, '\x', '\x');
INSERT INTO public.tocsin_shapes VALUES ('crowd', '3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO public.tocsin_shapes VALUES ('levels', '7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO public.tocsin_shapes VALUES ('run', 'd630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO public.tocsin_shapes VALUES ('band', '34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO public.tocsin_shapes VALUES ('crowd', '0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121', '{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}', '{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO public.tocsin_shapes VALUES ('a', 'f1', '{}', 'by a');
INSERT INTO public.tocsin_shapes VALUES ('b', 'f1', '{}', 'by b');
INSERT INTO public.tocsin_shapes VALUES ('c', 'f1', '{}', 'by c');
INSERT INTO public.tocsin_tallies VALUES ('levels', 'decided', '', 2, 1767225600000);
INSERT INTO public.tocsin_tallies VALUES ('crowd', 'denied', 'budget', 2, 1767225600000);
INSERT INTO public.tocsin_tallies VALUES ('levels', 'denied', 'budget', 2, 1767225600000);
INSERT INTO public.tocsin_tallies VALUES ('run', 'decided', '', 4, 1767225600000);
INSERT INTO public.tocsin_tallies VALUES ('band', 'decided', '', 6, 1767225600000);
INSERT INTO public.tocsin_tallies VALUES ('crowd', 'decided', '', 4, 1767225600000);
INSERT INTO public.tocsin_tallies VALUES ('run', 'denied', 'budget', 2, 1767225600000);
INSERT INTO public.tocsin_tallies VALUES ('a', 'decided', '', 1, 1767225600000);
INSERT INTO public.tocsin_tallies VALUES ('b', 'denied', 'incomplete', 1, 1767225600000);
INSERT INTO public.tocsin_totals VALUES ('user', 0, 5539900575355, 5539900575355);
INSERT INTO public.tocsin_totals VALUES ('user', 7200000, 5539900575355, 5539900575355);
INSERT INTO public.tocsin_totals VALUES ('user', 14400000, 5411178833061, 5411178833061);
ALTER TABLE ONLY public.tocsin_adopted
    ADD CONSTRAINT tocsin_adopted_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.tocsin_archives
    ADD CONSTRAINT tocsin_archives_pkey PRIMARY KEY (query, first_sequence);
ALTER TABLE ONLY public.tocsin_charges
    ADD CONSTRAINT tocsin_charges_pkey PRIMARY KEY (query, start_ms, end_ms);
ALTER TABLE ONLY public.tocsin_compacted
    ADD CONSTRAINT tocsin_compacted_pkey PRIMARY KEY (scope, period_ms);
ALTER TABLE ONLY public.tocsin_decisions
    ADD CONSTRAINT tocsin_decisions_pkey PRIMARY KEY (query, start_ms, end_ms);
ALTER TABLE ONLY public.tocsin_decisions
    ADD CONSTRAINT tocsin_decisions_query_sequence_key UNIQUE (query, sequence);
ALTER TABLE ONLY public.tocsin_drawn
    ADD CONSTRAINT tocsin_drawn_pkey PRIMARY KEY (query, period_ms);
ALTER TABLE ONLY public.tocsin_files
    ADD CONSTRAINT tocsin_files_pkey PRIMARY KEY (feed, digest);
ALTER TABLE ONLY public.tocsin_gaps
    ADD CONSTRAINT tocsin_gaps_pkey PRIMARY KEY (query, first_sequence);
ALTER TABLE ONLY public.tocsin_growths
    ADD CONSTRAINT tocsin_growths_pkey PRIMARY KEY (feed, partitions);
ALTER TABLE ONLY public.tocsin_journal
    ADD CONSTRAINT tocsin_journal_pkey PRIMARY KEY (entry);
ALTER TABLE ONLY public.tocsin_ledger
    ADD CONSTRAINT tocsin_ledger_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tocsin_links
    ADD CONSTRAINT tocsin_links_pkey PRIMARY KEY (scope, link);
ALTER TABLE ONLY public.tocsin_logs
    ADD CONSTRAINT tocsin_logs_pkey PRIMARY KEY (feed);
ALTER TABLE ONLY public.tocsin_marks
    ADD CONSTRAINT tocsin_marks_pkey PRIMARY KEY (feed, partition, time_ms);
ALTER TABLE ONLY public.tocsin_noisy
    ADD CONSTRAINT tocsin_noisy_pkey PRIMARY KEY (query, start_ms, end_ms);
ALTER TABLE ONLY public.tocsin_partials
    ADD CONSTRAINT tocsin_partials_pkey PRIMARY KEY (query, start_ms, end_ms, partition);
ALTER TABLE ONLY public.tocsin_places
    ADD CONSTRAINT tocsin_places_pkey PRIMARY KEY (feed, partition);
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
ALTER TABLE ONLY public.tocsin_shares
    ADD CONSTRAINT tocsin_shares_pkey PRIMARY KEY (query);
ALTER TABLE ONLY public.tocsin_tallies
    ADD CONSTRAINT tocsin_tallies_pkey PRIMARY KEY (query, outcome, reason);
ALTER TABLE ONLY public.tocsin_totals
    ADD CONSTRAINT tocsin_totals_pkey PRIMARY KEY (scope, period_ms);
ALTER TABLE ONLY public.tocsin_used
    ADD CONSTRAINT tocsin_used_pkey PRIMARY KEY (query, partition, start_ms);
ALTER TABLE ONLY public.tocsin_writers
    ADD CONSTRAINT tocsin_writers_pkey PRIMARY KEY (writer);
CREATE INDEX tocsin_adopted_by_end ON public.tocsin_adopted USING btree (scope, end_ms);
CREATE INDEX tocsin_adopted_by_window ON public.tocsin_adopted USING btree (query, start_ms);
CREATE INDEX tocsin_charges_by_end ON public.tocsin_charges USING btree (scope, end_ms);
CREATE INDEX tocsin_charges_capped ON public.tocsin_charges USING btree (scope, end_ms) WHERE (windows_per_period IS NOT NULL);
CREATE INDEX tocsin_charges_open ON public.tocsin_charges USING btree (scope) WHERE (state = 'reserved'::text);
CREATE INDEX tocsin_charges_pending ON public.tocsin_charges USING btree (scope) WHERE (state = 'pending'::text);
CREATE INDEX tocsin_decisions_outbox ON public.tocsin_decisions USING btree (query, sequence) WHERE (NOT published);
CREATE INDEX tocsin_links_by_window ON public.tocsin_links USING btree (query, start_ms, end_ms);
CREATE INDEX tocsin_links_told ON public.tocsin_links USING btree (scope, link) WHERE (told IS NOT NULL);
ALTER TABLE ONLY public.tocsin_adopted
    ADD CONSTRAINT tocsin_adopted_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_archives
    ADD CONSTRAINT tocsin_archives_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_charges
    ADD CONSTRAINT tocsin_charges_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_charges
    ADD CONSTRAINT tocsin_charges_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_compacted
    ADD CONSTRAINT tocsin_compacted_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_decisions
    ADD CONSTRAINT tocsin_decisions_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_drawn
    ADD CONSTRAINT tocsin_drawn_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_growths
    ADD CONSTRAINT tocsin_growths_feed_fkey FOREIGN KEY (feed) REFERENCES public.tocsin_logs(feed);
ALTER TABLE ONLY public.tocsin_links
    ADD CONSTRAINT tocsin_links_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_noisy
    ADD CONSTRAINT tocsin_noisy_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_partials
    ADD CONSTRAINT tocsin_partials_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_queries
    ADD CONSTRAINT tocsin_queries_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_runs
    ADD CONSTRAINT tocsin_runs_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_shapes
    ADD CONSTRAINT tocsin_shapes_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_shares
    ADD CONSTRAINT tocsin_shares_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_shares
    ADD CONSTRAINT tocsin_shares_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_tallies
    ADD CONSTRAINT tocsin_tallies_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
ALTER TABLE ONLY public.tocsin_totals
    ADD CONSTRAINT tocsin_totals_scope_fkey FOREIGN KEY (scope) REFERENCES public.tocsin_scopes(scope);
ALTER TABLE ONLY public.tocsin_used
    ADD CONSTRAINT tocsin_used_query_fkey FOREIGN KEY (query) REFERENCES public.tocsin_queries(query);
