-- The role that product code publishes with. Invariant: whoever has it may call the two publish functions, and do nothing else
-- in Posthorn's schemas.
--
-- Roles belong to the whole cluster: another database may have made it, or be making it just now. Whoever migrates may not be
-- allowed to make roles: then a warning says what to do, and the migration goes on, for nothing else needs the role.
do $$
begin
  if not exists (select from pg_roles where rolname = 'posthorn_publisher') then
    create role posthorn_publisher nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise warning 'posthorn: the role posthorn_publisher was not made, for % may not create roles. To publish in SQL with it, '
      'let one who may run: create role posthorn_publisher nologin; and then, in this database: '
      'select posthorn.grant_publisher()', current_user;
end $$;

-- Gives the role what it needs, and says whether it is there.
create function posthorn.grant_publisher() returns boolean language plpgsql set search_path = pg_catalog as $$
begin
  if not exists (select from pg_roles where rolname = 'posthorn_publisher') then return false; end if;
  grant usage on schema posthorn to posthorn_publisher;
  grant execute on function
    posthorn.publish(text, text, text, text, text[], text, timestamptz),
    posthorn.publish_batch(text, text[], text[], text, jsonb, text[], timestamptz[])
    to posthorn_publisher;
  return true;
end $$;
revoke execute on function posthorn.grant_publisher from public;

select posthorn.grant_publisher();
