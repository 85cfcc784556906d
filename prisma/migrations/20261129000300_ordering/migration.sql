-- Order: strict, and by key. See docs/architecture.md, "Order".
--
-- A delivery of an event with an ordering key carries the key's hash, whatever its lane's ordering: so a change of that
-- rewrites nothing. Only at lanes that are ordered now does a claim look at it.
--   head   it has been leased before the others of its key (or of its strict lane), and they wait until it ends
--   place  where a head stood in its key's queue: every delivery held behind it has a greater ticket
--          of a held delivery: the ticket that it had when it was ready

alter table posthorn.delivery add column place bigint;
alter table posthorn.lane
  -- True from a change of the ordering until nothing is held or in flight by the old one; nothing is leased meanwhile.
  add column reordering boolean not null default false,
  -- Counts how often held rows have got their first tickets back: what was known to be empty below them is not any more.
  add column rewound integer not null default 0;
create index lane_reordering on posthorn.lane (endpoint_id) where reordering;
create index lane_ordered on posthorn.lane (endpoint_id) where ordering > 0;

-- Heads that are not in flight: those in flight are found by their lane's leases, of which there are few. A delivery that
-- succeeds at once never enters it. The ticket makes the live entry of a key the last, behind all dead ones.
drop index posthorn.delivery_head;
create index delivery_head on posthorn.delivery (endpoint_id, order_key, ticket) where head and state <> 1;

-- The hash of an ordering key: the same in every version of Postgres, for it is stored. Keys that share one are ordered
-- together, which nobody can tell.
create function posthorn.order_key(ordering_key text) returns bigint
language sql immutable strict parallel safe
return ('x' || encode(substring(sha256(convert_to(ordering_key, 'UTF8')) from 1 for 8), 'hex'))::bit(64)::bigint;
revoke execute on function posthorn.order_key from public;

-- As in 20261129000100_publish, where its arguments and invariants are told; deliveries carry their order key now. The rows
-- of one call are written, and draw their tickets, in the order of its events.
create or replace function posthorn.publish_many(
  tenants text[], keys text[],
  request integer[], types text[], payloads bytea, payload_lengths integer[],
  channels text[], ordering_keys text[], deliver_ats timestamptz[]
) returns table (request_no integer, event_id uuid, deliveries integer, replayed boolean, reused boolean, lanes uuid[])
language plpgsql volatile set search_path = pg_catalog
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  started timestamptz := clock_timestamp();
  keyed boolean := array_length(array_remove($2, null), 1) is not null;
  fresh boolean[] := array_fill(true, array[cardinality($1)]);
  ids uuid[];
  offsets integer[];
  firsts integer[];
  lasts integer[];
  prints bytea[];
  counts integer[] := '{}';
  unseen text;
  answer record;
begin
  -- The transaction's id, before any ticket is drawn.
  perform pg_current_xact_id();

  select array_agg(posthorn.uuid_v7(started + o * interval '1 microsecond') order by o),
         array_agg(at order by o)
    into ids, offsets
    from (select o, (1 + sum(len) over (order by o) - len)::integer as at from unnest($6) with ordinality u(len, o)) e;

  if keyed then
    -- Length before content, so that no two contents make the same bytes.
    select array_agg(p.print order by p.r), array_agg(p.first order by p.r), array_agg(p.last order by p.r)
      into prints, firsts, lasts
      from (
        select e.r, min(e.o)::integer as first, max(e.o)::integer as last,
               sha256(string_agg(
                 int4send(octet_length(e.type)) || convert_to(e.type, 'UTF8')
                 || int4send(e.len) || substring($5 from e.at for e.len)
                 || coalesce(int4send(octet_length(e.channels)) || convert_to(e.channels, 'UTF8'), '\xffffffff'::bytea)
                 || coalesce(int4send(octet_length(e.okey)) || convert_to(e.okey, 'UTF8'), '\xffffffff'::bytea)
                 || coalesce(int8send((extract(epoch from e.deliver_at) * 1000)::bigint), '\xffffffff'::bytea),
                 '' order by e.o)) as print
        from unnest($3, $4, $6, offsets, $7, $8, $9) with ordinality e(r, type, len, at, channels, okey, deliver_at, o)
        group by e.r
      ) p;

    -- In order, so that two calls with the same keys wait for each other instead of deadlocking. What an open transaction
    -- has inserted is waited for; if it rolls back, ours is inserted. Those inserted are told by their first event's id.
    fresh := (select array_agg(k.key is null order by k.r) from unnest($2) with ordinality k(key, r));
    for answer in
      insert into posthorn.idempotency_key (tenant_id, key, fingerprint, event_ids, deliveries)
      select k.tenant, k.key, k.print, ids[k.first:k.last], '{}'
      from unnest($1, $2, prints, firsts, lasts) k(tenant, key, print, first, last)
      where k.key is not null
      order by k.tenant, k.key
      on conflict do nothing
      returning width_bucket(event_ids[1], ids) as o
    loop
      fresh[$3[answer.o]] := true;
    end loop;

    -- In a statement of its own, whose snapshot has what the insert waited for.
    return query
      select k.r::integer, case when k.print = i.fingerprint then a.id end,
             case when k.print = i.fingerprint then a.n end,
             k.print = i.fingerprint, k.print <> i.fingerprint, '{}'::uuid[]
      from unnest($1, $2, prints, firsts, lasts) with ordinality k(tenant, key, print, first, last, r)
      cross join lateral (
        select x.fingerprint, x.event_ids, x.deliveries from posthorn.idempotency_key x
        where x.tenant_id = k.tenant and x.key = k.key limit 1
      ) i
      cross join lateral (
        select u.id, u.n from unnest(i.event_ids, i.deliveries) u(id, n) where k.print = i.fingerprint
        union all
        select null, null from generate_series(k.first, k.last) where k.print <> i.fingerprint
      ) a
      where not fresh[k.r];
  end if;

  -- A tenant that is new is made. Where another open transaction is just making it, it is not waited for: the next
  -- publish or read of the tenant makes it, should that one roll back.
  for unseen in
    select t.tenant from (select distinct u.tenant from unnest($1) with ordinality u(tenant, r) where fresh[u.r]) t
    where (select true from posthorn.tenant x where x.id = t.tenant) is null
    order by t.tenant
  loop
    if pg_try_advisory_xact_lock(7306918, hashtext(unseen)) then
      insert into posthorn.tenant (id) values (unseen) on conflict do nothing;
    end if;
  end loop;

  -- Each event carries the endpoints that it is owed to: joined by the event's number they would cost a square.
  for answer in
    with e as materialized (
      select u.r, u.o, ids[u.o] as id, $1[u.r] as tenant, u.type, u.len, offsets[u.o] as at,
             string_to_array(u.channels, ',') as channels, u.okey, u.deliver_at,
             -- As posthorn.event_type_patterns has it, without a call for each event.
             (select array_agg(case when n = cardinality(p.parts) then u.type else array_to_string(p.parts[1:n], '.') || '.*' end)
              from (select string_to_array(u.type, '.') as parts) p, generate_series(1, cardinality(p.parts)) n) as patterns
      from unnest($3, $4, $6, $7, $8, $9) with ordinality u(r, type, len, channels, okey, deliver_at, o)
      where fresh[u.r]
    ),
    owed as materialized (
      select e.r, e.o, e.id, e.tenant, e.type, e.channels, e.okey, e.deliver_at, e.at, e.len,
             coalesce(f.endpoints, '{}') as endpoints, coalesce(cardinality(f.endpoints), 0) as n
      from e cross join lateral (
        select array_agg(p.id order by p.id) as endpoints
        from posthorn.endpoint p
        where p.tenant_id = e.tenant and p.deleted_at is null and p.status <> 'disabled'
          and (p.event_types = '{}' or p.event_types && e.patterns)
          and (p.channels = '{}' or p.channels && e.channels)
      ) f
    ),
    made_events as (
      insert into posthorn.event (id, tenant_id, type, channels, ordering_key, deliver_at, deliveries, payload)
      select o.id, o.tenant, o.type, o.channels, o.okey, o.deliver_at, o.n, substring($5 from o.at for o.len)
      from owed o order by o.o
    ),
    made_deliveries as (
      insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state, order_key)
      select o.id, d.endpoint_id, nextval('posthorn.ticket'), greatest(o.deliver_at, started),
             greatest(o.deliver_at, started), case when o.deliver_at > started then 2 else 0 end, posthorn.order_key(o.okey)
      from owed o cross join lateral unnest(o.endpoints) d(endpoint_id) order by o.o, d.endpoint_id
    )
    select o.r, o.o, o.id, o.n, case when o.deliver_at > started then '{}' else o.endpoints[1:256] end as lanes
    from owed o order by o.o
  loop
    request_no := answer.r;
    event_id := answer.id;
    deliveries := answer.n;
    replayed := false;
    reused := false;
    lanes := answer.lanes;
    return next;
    if keyed and $2[answer.r] is not null then
      counts := counts || answer.n;
      if answer.o = lasts[answer.r] then
        update posthorn.idempotency_key i set deliveries = counts where i.tenant_id = $1[answer.r] and i.key = $2[answer.r];
        counts := '{}';
      end if;
    end if;
  end loop;
end $$;

-- As in 20261129000100_publish, with the rule for ordering keys.
create or replace function posthorn.check_event(tenant text, type text, payload text, idempotency_key text, channels text, ordering_key text, deliver_at timestamptz)
returns void language plpgsql stable set search_path = pg_catalog as $$
declare
  fault text;
  most integer;
begin
  if tenant is null or tenant !~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$' or tenant = 'posthorn' then
    raise exception 'posthorn: tenant must match [A-Za-z0-9][A-Za-z0-9._:-]{0,127} and not be "posthorn"' using errcode = 'PH001';
  end if;
  if type is null or length(type) > 128 or type !~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$' then
    raise exception 'posthorn: type must be names of A-Z a-z 0-9 _ - joined by full stops, at most 128 long' using errcode = 'PH002';
  end if;
  select s.value::integer into most from posthorn.setting s where s.name = 'max_payload_bytes';
  if payload is null then
    raise exception 'posthorn: payload must not be null' using errcode = 'PH003';
  end if;
  if octet_length(convert_to(payload, 'UTF8')) > most then
    raise exception 'posthorn: payload is larger than % bytes', most using errcode = 'PH004';
  end if;
  fault := posthorn.json_fault(payload);
  if fault is not null then
    raise exception 'posthorn: payload is %', fault using errcode = 'PH003';
  end if;
  if idempotency_key is not null and idempotency_key !~ '^[ -~]{1,255}$' then
    raise exception 'posthorn: idempotency_key must be 1 to 255 printable ASCII characters' using errcode = 'PH005';
  end if;
  if channels is not null and (channels !~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(,[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*){0,63}$'
     or exists (select from string_to_array(channels, ',') names, unnest(names) name where length(name) > 128)) then
    raise exception 'posthorn: channels must be 1 to 64 names like event types, each at most 128 long' using errcode = 'PH006';
  end if;
  if length(ordering_key) not between 1 and 128 then
    raise exception 'posthorn: ordering_key must be 1 to 128 characters' using errcode = 'PH007';
  end if;
  if deliver_at > now() + interval '30 days' or deliver_at = '-infinity' then
    raise exception 'posthorn: deliver_at must be at most 30 days ahead' using errcode = 'PH008';
  end if;
end $$;
