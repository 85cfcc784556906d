-- Filters over the payload: see docs/filters.md, and docs/decisions/0017-filters-are-paths-in-postgres.md.

-- As it was given: JSON text, for jsonb would be read by clients that round its numbers. Nothing has been written here before.
alter table posthorn.endpoint alter column filter type text using filter::text;
-- And as it is run. Made of the former when an endpoint is changed, and written in one statement with it.
alter table posthorn.endpoint add column filter_path jsonpath;
alter table posthorn.endpoint add constraint endpoint_filter check ((filter is null) = (filter_path is null));

-- A payload as filters see it; null when Postgres cannot hold it, and then no filter is met.
--
-- Invariant: a payload that is JSON never raises here, whatever is in it: it is published all the same. What raises is a fault
-- of the server (no memory), and fails the publish instead of passing endpoints over.
--
-- U+0000 and lone surrogates, which jsonb refuses, are read as U+FFFD. What is left are numbers past what a numeric holds.
create function posthorn.filter_document(payload bytea) returns jsonb
language plpgsql immutable strict set search_path = pg_catalog set standard_conforming_strings = on as $$
declare
  mended text;
begin
  return convert_from(payload, 'UTF8')::jsonb;
exception
  when untranslatable_character or invalid_text_representation then
    -- Control characters, of which JSON text has none in its strings, stand in for what is to stay: for escaped backslashes, taken
    -- from the left, so that whatever still reads \u is an escape, and for pairs of surrogates. No look-behinds: they cost a square.
    mended := replace(replace(convert_from(payload, 'UTF8'), '\\', chr(1)), '\u0000', '\ufffd');
    if strpos(mended, '\ud') > 0 or strpos(mended, '\uD') > 0 then
      mended := regexp_replace(mended, '\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})',
        chr(2) || '\1' || chr(2) || '\2', 'g');
      mended := replace(regexp_replace(mended, '\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\ufffd', 'g'), chr(2), '\u');
    end if;
    mended := replace(mended, chr(1), '\\');
    begin
      return mended::jsonb;
    exception
      when data_exception or program_limit_exceeded then return null;
    end;
  when data_exception or program_limit_exceeded then
    return null;
end $$;
revoke execute on function posthorn.filter_document from public;

-- As in 20261129000300_ordering; an endpoint with a filter is owed an event only where its payload meets it.
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
        select array_agg(c.id order by c.id) as endpoints
        from (
          select p.id, p.filter_path
          from posthorn.endpoint p
          where p.tenant_id = e.tenant and p.deleted_at is null and p.status <> 'disabled'
            and (p.event_types = '{}' or p.event_types && e.patterns)
            and (p.channels = '{}' or p.channels && e.channels)
          -- By itself, so that nothing is read of an endpoint's filter before the rest of it takes the event.
          offset 0
        ) c
        -- The payload is read once an event, at the first of them that has a filter: without one, never.
        where c.filter_path is null
          or (select posthorn.filter_document(substring($5 from e.at for e.len))) @@ c.filter_path
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
