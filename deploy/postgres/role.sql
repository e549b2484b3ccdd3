-- Run once, when the server is new: the ledger's role owns its database and is no superuser. Who is one
-- logs in on the server's own socket alone, since they have no password.
\set password `cat "${SECRETS:-/run/secrets}/db_password"`
CREATE ROLE tocsin LOGIN PASSWORD :'password';
CREATE DATABASE tocsin OWNER tocsin ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE tocsin FROM PUBLIC;
ALTER ROLE CURRENT_USER PASSWORD NULL;
