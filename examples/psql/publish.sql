-- A change and the event that it causes, in one transaction.
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f publish.sql
create table if not exists psql_invoice (id integer primary key, total numeric not null, paid_at timestamptz);
insert into psql_invoice values (1042, 99.50), (1043, 12.00) on conflict do nothing;

-- Committed: the invoice is paid, and every endpoint of acme that takes invoice.paid is owed the event.
begin;
with paid as (update psql_invoice set paid_at = now() where id = 1042 returning id, total)
select posthorn.publish(
  tenant => 'acme',
  type => 'invoice.paid',
  payload => json_build_object('id', id, 'total', total, 'from', 'psql')::text,
  idempotency_key => 'psql-' || id || '-paid'
) from paid;
commit;

-- Rolled back: the invoice is not paid, and nobody hears of it.
begin;
update psql_invoice set paid_at = now() where id = 1043;
select posthorn.publish('acme', 'invoice.paid', '{"id":1043,"from":"psql"}');
rollback;
