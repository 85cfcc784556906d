-- Event types have schemas and examples, kept as text: customers read them in the order in which they were written.
alter table posthorn.event_type
  alter column schema type json using schema::json,
  add column examples json not null default '[]';

insert into posthorn.setting (name, value) values ('catalogue_version', '1');

-- Invariant: the version and what it counts change in one transaction, whoever makes it. API processes keep the catalogue, and
-- ask for its version alone. Before the statement, so that whoever changes the catalogue holds the version's row first: two
-- changes of several types each wait for one another, and never in a circle.
create function posthorn.count_catalogue_change() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
  insert into posthorn.setting as s (name, value) values ('catalogue_version', '1')
  on conflict (name) do update set value = (s.value::bigint + 1)::text;
  return null;
end $$;

create trigger event_type_changed before insert or update or delete or truncate on posthorn.event_type
  for each statement execute function posthorn.count_catalogue_change();

revoke execute on function posthorn.count_catalogue_change from public;
