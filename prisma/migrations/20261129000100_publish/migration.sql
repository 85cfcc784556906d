-- Publishing: one code path for the API, for product code in SQL, and for everything that publishes an event.
--
-- Invariants
--   * An event, its deliveries and its idempotency key are written in the caller's transaction: all of them or none.
--   * The transaction has its id before it draws a ticket. A mark (see docs/architecture.md) trusts that each ticket below
--     it was drawn by a transaction older than the mark.
--   * Nothing here waits for another transaction, with one exception: an idempotency key that another open transaction
--     has used is waited for.
--   * Fan-out is decided here, once: (event, endpoint) is the delivery's identity, so a repeat cannot double it.

-- Is the text a JSON value, nested at most 500 deep? Never raises.
create function posthorn.json_fault(payload text) returns text
language plpgsql immutable set search_path = pg_catalog as $$
declare
  depth integer := 0;
  step text;
begin
  begin
    perform payload::json;
  exception
    when statement_too_complex then return 'nested too deep: at most 500 levels';
    when others then return 'not JSON';
  end;
  -- The exact count is owed only where there are enough brackets to reach the bound. Strings go first, so that their
  -- brackets are not counted, and then all but brackets; what opens and closes at once is taken in one step.
  if length(payload) - length(translate(payload, '[{', '')) > 500 then
    payload := translate(regexp_replace(regexp_replace(payload, '"([^"\\]|\\.)*"', '', 'g'), '[^][{}]+', '', 'g'), '{}', '[]');
    for step in select m[1] from regexp_matches(payload, '(\[+|\]+)', 'g') m loop
      depth := depth + case when left(step, 1) = '[' then length(step) else -length(step) end;
      if depth > 500 then return 'nested too deep: at most 500 levels'; end if;
    end loop;
  end if;
  return null;
end $$;

-- A TypeID: the prefix, and the 128 bits in Crockford's base 32 (https://github.com/jetify-com/typeid, spec 0.3).
create function posthorn.type_id(prefix text, id uuid) returns text
language sql immutable strict parallel safe set search_path = pg_catalog as $$
  select prefix || '_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substring(bits from i * 5 + 1 for 5)::integer + 1, 1), '' order by i)
  from (select B'00' || ('x' || replace(id::text, '-', ''))::bit(128) as bits) b, generate_series(0, 25) i
$$;

-- The event types that an endpoint may name to get events of this one: itself, and `a.*` for each level above it.
create function posthorn.event_type_patterns(type text) returns text[]
language sql immutable strict parallel safe set search_path = pg_catalog as $$
  select array_agg(case when n = cardinality(parts) then type else array_to_string(parts[1:n], '.') || '.*' end)
  from (select string_to_array(type, '.') as parts) p, generate_series(1, cardinality(parts)) n
$$;

-- The core: many requests, each of one or more events, each with or without an idempotency key.
--   tenants, keys            one element a request; a key stands at most once a call for one tenant
--   request                  one element an event: the request's place in the former (from 1), never falling
--   types, payload_lengths   one element an event; payloads holds the payloads' bytes one after the other
--   channels                 one element an event: names joined by a comma, or null
-- Answers one row an event: its request, its id, how many endpoints it is owed to, whether the key had been used
-- (`replayed` with the first answer, or `reused` with other content, which wrote nothing), and the lanes that have new work
-- now (at most 256, for the doorbell). Within a request the ids rise in the order of its events.
-- Checks nothing that its callers check: names, sizes, JSON.
--
-- Every join is written so that it goes from the call's own events to a table's index, whatever the planner believes of
-- the table (it may have been empty when it was analyzed), and costs the same for each event, however many there are.
create function posthorn.publish_many(
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
      insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
      select o.id, d.endpoint_id, nextval('posthorn.ticket'), greatest(o.deliver_at, started),
             greatest(o.deliver_at, started), case when o.deliver_at > started then 2 else 0 end
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

-- Raises, with a SQLSTATE of class PH, what SQL can check of one event.
create function posthorn.check_event(tenant text, type text, payload text, idempotency_key text, channels text, ordering_key text, deliver_at timestamptz)
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
  if ordering_key is not null then
    raise exception 'posthorn: ordering_key is not supported yet' using errcode = 'PH007';
  end if;
  if deliver_at > now() + interval '30 days' or deliver_at = '-infinity' then
    raise exception 'posthorn: deliver_at must be at most 30 days ahead' using errcode = 'PH008';
  end if;
end $$;

-- Publishes events of one tenant in the caller's transaction; they are attempted once it has committed, and never if it
-- rolls back. Answers their ids, in order. `channels` is a JSON array with one array of names, or null, for each event.
-- The key covers the whole call: used before with the same content, the first ids are answered and nothing is written;
-- with other content PH010 is raised. A key that another open transaction has used is waited for; two transactions that
-- use two keys in opposite order deadlock, as any two that lock two rows do.
-- Runs with its owner's rights: whoever may execute it needs none on the tables.
create function posthorn.publish_batch(
  tenant text, types text[], payloads text[], idempotency_key text default null, channels jsonb default null,
  ordering_keys text[] default null, deliver_ats timestamptz[] default null
) returns text[] language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  n integer := coalesce(cardinality(types), 0);
  joined text[];
  ids text[];
  reused boolean;
begin
  if n < 1 or n > 1000 then
    raise exception 'posthorn: a batch has 1 to 1000 events' using errcode = 'PH009';
  end if;
  if coalesce(cardinality(payloads), 0) <> n or cardinality(ordering_keys) <> n or cardinality(deliver_ats) <> n
     or (channels is not null and (jsonb_typeof(channels) <> 'array' or jsonb_array_length(channels) <> n)) then
    raise exception 'posthorn: types, payloads, channels, ordering_keys and deliver_ats must be of one length' using errcode = 'PH009';
  end if;
  if (select sum(octet_length(p)::bigint) from unnest(payloads) p) > 16777216 then
    raise exception 'posthorn: a batch is larger than 16777216 bytes' using errcode = 'PH004';
  end if;
  for i in 1..n loop
    if jsonb_typeof(channels -> (i - 1)) = 'array' then
      joined[i] := (select coalesce(string_agg(c, ','), '') from jsonb_array_elements_text(channels -> (i - 1)) c);
    elsif jsonb_typeof(channels -> (i - 1)) <> 'null' then
      raise exception 'posthorn: channels must be an array of arrays of names' using errcode = 'PH006';
    else
      joined[i] := null;
    end if;
    perform posthorn.check_event(tenant, types[i], payloads[i], idempotency_key, joined[i], ordering_keys[i], deliver_ats[i]);
  end loop;
  select array_agg(posthorn.type_id('evt', p.event_id) order by p.event_id), bool_or(p.reused) into ids, reused
    from posthorn.publish_many(
      array[tenant], array[idempotency_key], array_fill(1, array[n]), types,
      (select string_agg(convert_to(u.p, 'UTF8'), '' order by u.o) from unnest(payloads) with ordinality u(p, o)),
      (select array_agg(octet_length(convert_to(u.p, 'UTF8')) order by u.o) from unnest(payloads) with ordinality u(p, o)),
      joined, coalesce(ordering_keys, array_fill(null::text, array[n])), coalesce(deliver_ats, array_fill(null::timestamptz, array[n]))
    ) p;
  if reused then
    raise exception 'posthorn: the idempotency key was used before with other content' using errcode = 'PH010';
  end if;
  return ids;
end $$;

-- Publishes one event in the caller's transaction: see posthorn.publish_batch.
create function posthorn.publish(
  tenant text, type text, payload text, idempotency_key text default null, channels text[] default null,
  ordering_key text default null, deliver_at timestamptz default null
) returns text language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select (posthorn.publish_batch(tenant, array[type], array[payload], idempotency_key,
    case when channels is not null then jsonb_build_array(to_jsonb(channels)) end, array[ordering_key], array[deliver_at]))[1]
$$;

-- What stands in the product's own database is the product's to grant.
revoke execute on all functions in schema posthorn from public;

-- An event owed to one endpoint alone, whatever its filter says: a test that somebody asked for. Same invariants as above.
create function posthorn.publish_to(endpoint uuid, tenant text, type text, payload bytea) returns uuid
language plpgsql volatile set search_path = pg_catalog as $$
declare
  made uuid := posthorn.uuid_v7(clock_timestamp());
begin
  perform pg_current_xact_id();
  insert into posthorn.event (id, tenant_id, type, deliveries, payload) values (made, $2, $3, 1, $4);
  insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
    values (made, $1, nextval('posthorn.ticket'), clock_timestamp(), clock_timestamp(), 0);
  return made;
end $$;
revoke execute on function posthorn.publish_to from public;
