-- Fair lanes: what the breaker keeps of each lane, the scheduled rows by lane, and events about Posthorn itself.

-- Beside failures_in_a_row, breaker_trips, probing (open or half open) and failing_since:
alter table posthorn.lane
  -- The failure rate is reckoned over a window that begins at a failure; null is no window.
  add column window_started_at timestamptz,
  add column window_attempts integer not null default 0,
  add column window_failures integer not null default 0,
  -- What a lane may have in flight while it recovers; null is all of max_in_flight.
  add column ramp_cap integer;

-- What is scheduled at one lane: to be canceled when it closes, and counted for its stats. Never moved by a claim.
create index delivery_scheduled_lane on posthorn.delivery (endpoint_id, due_at) where state = 2;

-- Publishes events about Posthorn itself to the endpoints of the tenant `posthorn`, in the caller's transaction: with the
-- change of state that they tell of, or not at all. One element an event; `data` names the tenant as tenant_id. Nothing is
-- written where no such endpoint is, and nothing of the tenant `posthorn` itself, so that no event can cause itself.
-- Answers the lanes that have new work, for the doorbell.
create function posthorn.publish_operational_many(types text[], data jsonb[]) returns uuid[]
language plpgsql volatile set search_path = pg_catalog as $$
declare
  chosen text[];
  payloads bytea[];
  lanes uuid[];
begin
  if not exists (select from posthorn.endpoint p where p.tenant_id = 'posthorn' and p.deleted_at is null) then
    return '{}';
  end if;
  select array_agg(u.type order by u.o),
         array_agg(convert_to(json_build_object(
           'type', u.type,
           'timestamp', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'data', u.data)::text, 'UTF8') order by u.o)
    into chosen, payloads
    from unnest($1, $2) with ordinality u(type, data, o)
    where u.data ->> 'tenant_id' is distinct from 'posthorn';
  if chosen is null then
    return '{}';
  end if;
  select array_agg(distinct l.lane) into lanes
    from posthorn.publish_many(
      array['posthorn'], array[null::text], array_fill(1, array[cardinality(chosen)]), chosen,
      (select string_agg(u.p, ''::bytea order by u.o) from unnest(payloads) with ordinality u(p, o)),
      (select array_agg(octet_length(u.p) order by u.o) from unnest(payloads) with ordinality u(p, o)),
      array_fill(null::text, array[cardinality(chosen)]), array_fill(null::text, array[cardinality(chosen)]),
      array_fill(null::timestamptz, array[cardinality(chosen)])
    ) p left join lateral unnest(p.lanes) l(lane) on true
    where l.lane is not null;
  return coalesce(lanes, '{}');
end $$;

-- One event: see posthorn.publish_operational_many.
create function posthorn.publish_operational(type text, data jsonb) returns uuid[]
language sql volatile set search_path = pg_catalog as $$
  select posthorn.publish_operational_many(array[type], array[data])
$$;

revoke execute on function posthorn.publish_operational_many from public;
revoke execute on function posthorn.publish_operational from public;
