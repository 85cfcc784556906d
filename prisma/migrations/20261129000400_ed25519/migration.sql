-- ed25519 signatures (v1a) beside v1, for endpoints that ask for them.

-- The versions with which the endpoint signs: each has at least one secret that does not expire.
alter table posthorn.endpoint add column signatures text[] not null default '{v1}';

-- Of a v1a secret the public half, as it is shown (`whpk_...`); null is a secret of v1.
alter table posthorn.endpoint_secret add column public_key text;
