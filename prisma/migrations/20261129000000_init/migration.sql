-- The schema of Posthorn: see docs/architecture.md for what each table is for.
--
-- Codes in the hot tables (small integers, because they stand in millions of rows):
--   delivery.state   0 ready · 1 leased · 2 scheduled · 3 held
--   attempt.outcome  0 none (an end without an attempt) · 1 succeeded · 2 failed · 3 lease_lost · 4 superseded
--   attempt.state    0 pending · 2 scheduled · 4 succeeded · 5 failed · 6 canceled: the state in which it left the delivery
--   lane.status      0 enabled · 1 paused · 2 disabled · 3 deleted
--   lane.ordering    0 none · 1 strict · 2 by_key

create schema if not exists posthorn;

-- Partitions live apart, so that comparing schema.prisma with the database sees the parents alone.
create schema if not exists posthorn_partitions;

-- Orders the lanes and fences the leases: one number for each change of a delivery's state. `cache 1` keeps the numbers
-- in the order in which they are drawn, over all sessions; the watermarks rest on that.
create sequence posthorn.ticket as bigint cache 1;

create table posthorn.setting (
  name  text primary key,
  value text not null
);
insert into posthorn.setting (name, value) values ('max_payload_bytes', '1048576');

create table posthorn.tenant (
  id         text primary key,
  name       text,
  metadata   jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table posthorn.endpoint (
  id              uuid primary key,
  tenant_id       text not null,
  uid             text,
  url             text not null,
  description     text not null default '',
  -- Empty takes all.
  event_types     text[] not null default '{}',
  channels        text[] not null default '{}',
  filter          jsonb,
  status          text not null default 'enabled' check (status in ('enabled', 'paused', 'disabled')),
  disabled_reason text,
  -- Names as given; the values are sealed together, for they often carry a receiver's credentials.
  header_names    text[] not null default '{}',
  headers_sealed  bytea,
  max_in_flight   integer not null default 20,
  rate_limit      jsonb,
  timeout_ms      integer not null default 15000,
  -- Seconds; null is the default schedule, an empty array a single attempt.
  retry_schedule  jsonb,
  ordering        text not null default 'none' check (ordering in ('none', 'strict', 'by_key')),
  metadata        jsonb not null default '{}',
  -- Counts the changes that sending must know of; `lane.version` follows in the same transaction.
  version         integer not null default 1,
  created_at      timestamptz(3) not null default now(),
  updated_at      timestamptz(3) not null default now(),
  deleted_at      timestamptz(3)
);
-- Publish reads the endpoints of one tenant; lists read them newest first.
create index endpoint_tenant on posthorn.endpoint (tenant_id, id) where deleted_at is null;
create unique index endpoint_uid on posthorn.endpoint (tenant_id, uid) where deleted_at is null;

create table posthorn.endpoint_secret (
  id          uuid primary key,
  endpoint_id uuid not null references posthorn.endpoint (id),
  sealed      bytea not null,
  created_at  timestamptz(3) not null default now(),
  -- Null signs without end; a rotated one signs until then.
  expires_at  timestamptz(3)
);
create index endpoint_secret_endpoint on posthorn.endpoint_secret (endpoint_id);

-- All that a claim obeys, in one row that the claim locks. Its configuration is written in the transaction that writes
-- the endpoint's, so that after the answer to a pause no new lease is taken.
create table posthorn.lane (
  endpoint_id        uuid primary key,
  tenant_id          text not null,
  status             smallint not null default 0,
  ordering           smallint not null default 0,
  version            integer not null default 1,
  max_in_flight      integer not null,
  timeout_ms         integer not null,
  -- Rate limit as GCRA: one token each rate_interval_us, rate_burst at once; null is no limit.
  rate_interval_us   bigint,
  rate_burst         integer,
  rate_next          timestamptz,
  blocked_until      timestamptz,
  -- Breaker.
  failures_in_a_row  integer not null default 0,
  breaker_trips      integer not null default 0,
  probing            boolean not null default false,
  last_success_at    timestamptz,
  failing_since      timestamptz,
  -- True while what was owed to a disabled or deleted endpoint may still have to be canceled.
  draining           boolean not null default false
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index lane_draining on posthorn.lane (endpoint_id) where draining;

-- A fact, published once. The id is a UUIDv7: its time is the event's created_at, and the partition key.
-- The payload's bytes are kept as they came: neither json nor jsonb would give them back.
create table posthorn.event (
  id           uuid not null,
  tenant_id    text not null,
  type         text not null,
  channels     text[],
  ordering_key text,
  deliver_at   timestamptz(3),
  deliveries   integer not null,
  payload      bytea not null,
  primary key (id)
) partition by range (id);
create index event_tenant on posthorn.event (tenant_id, id);

-- What is owed, and nothing else: a row is deleted in the statement that logs its last attempt.
-- No foreign key: it would lock endpoint and event rows at each insert.
create table posthorn.delivery (
  event_id         uuid not null,
  endpoint_id      uuid not null,
  ticket           bigint not null,
  -- When the present schedule began (publish, deliver_at or redelivery): its age is counted from here.
  owed_at          timestamptz not null,
  -- When it is or was to be attempted next.
  due_at           timestamptz not null,
  lease_expires_at timestamptz,
  order_key        bigint,
  dispatcher_id    integer,
  -- Attempts made so far; set at claim, never reused.
  attempts         integer not null default 0,
  -- Position in the retry schedule.
  step             smallint not null default 0,
  state            smallint not null,
  head             boolean not null default false,
  -- The last attempt met a stale connection, and the next goes out on a fresh one.
  fresh            boolean not null default false,
  primary key (event_id, endpoint_id)
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.2
);
-- One partial index for each state, with the state as a literal: a claim, a count and a sweep each read their own.
create index delivery_ready on posthorn.delivery (endpoint_id, ticket) where state = 0;
create index delivery_leased on posthorn.delivery (endpoint_id, ticket) where state = 1;
create index delivery_scheduled on posthorn.delivery (due_at) where state = 2;
-- Ordered rows only.
create unique index delivery_head on posthorn.delivery (endpoint_id, order_key) where head;
create index delivery_held on posthorn.delivery (endpoint_id, order_key, ticket) where state = 3;

-- What happened: append-only. The event's id leads, so that the partition is the event's.
create table posthorn.attempt (
  event_id         uuid not null,
  endpoint_id      uuid not null,
  -- Made by whoever logs it, so that a log sent twice is one row.
  id               uuid not null,
  number           integer not null,
  outcome          smallint not null,
  state            smallint not null,
  reason           text,
  started_at       timestamptz(3) not null,
  ended_at         timestamptz(3) not null,
  next_attempt_at  timestamptz(3),
  duration_ms      integer,
  status           smallint,
  error_code       text,
  error_phase      text,
  error_message    text,
  url              text,
  -- What cannot be derived of the request's headers: the signature, the user agent, and the names of the endpoint's own.
  signature        text,
  user_agent       text,
  header_names     text[],
  response_headers text,
  response_body    bytea,
  truncated        boolean not null default false,
  primary key (event_id, endpoint_id, id)
) partition by range (event_id);
-- Ended without success: what recovery looks for.
create index attempt_unsuccessful on posthorn.attempt (endpoint_id, event_id) where state in (5, 6) and outcome <> 4;

-- A key and the event it made are written in one transaction. What is compared is the fingerprint; the answer is kept
-- whole, so that it can be given again.
create table posthorn.idempotency_key (
  tenant_id   text not null,
  key         text not null,
  fingerprint bytea not null,
  event_ids   uuid[] not null,
  deliveries  integer[] not null,
  created_at  timestamptz(3) not null default now(),
  primary key (tenant_id, key)
);
create index idempotency_key_created on posthorn.idempotency_key (created_at);

create table posthorn.event_type (
  name        text primary key,
  description text not null default '',
  schema      jsonb,
  archived    boolean not null default false,
  created_at  timestamptz(3) not null default now(),
  updated_at  timestamptz(3) not null default now()
);

create table posthorn.api_key (
  id           uuid primary key,
  name         text not null,
  kind         text not null check (kind in ('operator', 'tenant', 'publish')),
  tenant_id    text,
  prefix       text not null,
  -- SHA-256 of the token, which is random enough to need no slow hash. The token itself is kept nowhere.
  token_hash   bytea not null unique,
  created_at   timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  expires_at   timestamptz(3),
  revoked_at   timestamptz(3)
);

-- A dispatcher's heartbeat: one silent for too long has lost its leases.
create table posthorn.dispatcher (
  id           integer generated by default as identity primary key,
  host         text not null,
  pid          integer not null,
  version      text not null,
  started_at   timestamptz(3) not null default now(),
  heartbeat_at timestamptz(3) not null default now()
) with (fillfactor = 50);

-- The least UUIDv7 of a moment: the bound between two days' partitions, and what `since` and `until` compare with.
create function posthorn.uuid_floor(at timestamptz) returns uuid
language sql immutable strict parallel safe
return rpad(lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0'), 32, '0')::uuid;

-- A UUIDv7 (RFC 9562) of a moment: 48 bits of milliseconds, 12 of the millisecond's parts, 62 random.
create function posthorn.uuid_v7(at timestamptz) returns uuid
language sql volatile strict parallel safe
return encode(overlay(uuid_send(gen_random_uuid()) placing int8send(
    (floor(extract(epoch from at) * 1000)::bigint << 16) | (7 << 12)
    | (floor(extract(epoch from at) * 1000000)::bigint % 1000 * 4096 / 1000)
  ) from 1 for 8), 'hex')::uuid;

-- Milliseconds since 1970 of a UUIDv7, as a time.
create function posthorn.uuid_time(id uuid) returns timestamptz
language sql immutable strict parallel safe
return to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);

-- Makes the daily partitions of event and attempt from yesterday to `ahead` days from now that are not there yet.
-- A table is made by itself and attached: `create table ... partition of` would lock the parent against everything, and
-- wait behind each open transaction that has published. The check spares the attach its scan.
create function posthorn.make_partitions(ahead integer default 15) returns integer
language plpgsql volatile set search_path = pg_catalog as $$
declare
  parent text;
  day date;
  child text;
  lo uuid;
  hi uuid;
  col text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(7306917, 2);
  for day in select d::date from generate_series((now() at time zone 'UTC')::date - 1,
                                                 (now() at time zone 'UTC')::date + ahead, interval '1 day') d loop
    foreach parent in array array['event', 'attempt'] loop
      child := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass(format('posthorn_partitions.%I', child)) is not null;
      lo := posthorn.uuid_floor(day::timestamp at time zone 'UTC');
      hi := posthorn.uuid_floor((day + 1)::timestamp at time zone 'UTC');
      col := case parent when 'event' then 'id' else 'event_id' end;
      execute format('create table posthorn_partitions.%I (like posthorn.%I including defaults including constraints including storage including compression)', child, parent);
      execute format('alter table posthorn_partitions.%I add constraint bounds check (%I >= %L and %I < %L)', child, col, lo, col, hi);
      execute format('alter table posthorn.%I attach partition posthorn_partitions.%I for values from (%L) to (%L)', parent, child, lo, hi);
      execute format('alter table posthorn_partitions.%I drop constraint bounds', child);
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;

select posthorn.make_partitions();
