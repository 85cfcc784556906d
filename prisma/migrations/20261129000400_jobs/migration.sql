-- Jobs: work over many rows, done in bounded batches by the dispatchers' upkeep. See docs/architecture.md.

-- A batch and the position that it reached are one transaction, in which the row is locked: whoever dies with a batch has
-- done nothing of it, and the next to find the job goes on from where the last batch ended.
create table posthorn.job (
  id          uuid primary key,
  -- `recover`, `delete_tenant`. Dispatchers leave kinds alone that they do not know.
  kind        text not null,
  tenant_id   text,
  endpoint_id uuid,
  status      text not null default 'running' check (status in ('running', 'done', 'stopped', 'failed')),
  -- What was asked for, and where the next batch goes on (null before the first). Their shapes are the kind's.
  input       jsonb not null,
  position    jsonb,
  total       bigint,
  done        bigint not null default 0,
  error       text,
  -- Batches in a row that have failed.
  faults      integer not null default 0,
  -- No batch begins before: what paces a job, over all dispatchers.
  next_at     timestamptz not null default now(),
  created_at  timestamptz(3) not null default now(),
  ended_at    timestamptz(3)
);
create index job_running on posthorn.job (next_at) where status = 'running';
create index job_endpoint on posthorn.job (endpoint_id, id) where status = 'running';
create index job_ended on posthorn.job (ended_at) where status <> 'running';
-- A tenant that is being deleted: what it had is hidden until it is gone.
create index job_deletion on posthorn.job (tenant_id) where kind = 'delete_tenant' and status = 'running';

-- The one endpoint that a test event is for: it was never missed by any other.
alter table posthorn.event add column only_to uuid;

-- A test event: see posthorn.publish_to.
create function posthorn.publish_test(endpoint uuid, tenant text, type text, payload bytea) returns uuid
language plpgsql volatile set search_path = pg_catalog as $$
declare
  made uuid := posthorn.publish_to($1, $2, $3, $4);
begin
  update posthorn.event e set only_to = $1 where e.id = made;
  return made;
end $$;
revoke execute on function posthorn.publish_test from public;

-- What a deletion of its tenant still has to find.
create index endpoint_deleted on posthorn.endpoint (tenant_id, id) where deleted_at is not null;
