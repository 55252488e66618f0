-- The bookkeeping, whoever writes. Before a statement the counter is locked until the end of the transaction, so
-- that revisions become visible in their order; then each row gets its number; then each is written down.
-- As their owner, with a fixed search_path: whoever may write mcp_tool needs no right on anything else.

-- Where the numbers go on from, for whoever holds the counter. One statement may have several parts that each begin, and
-- others within it: what this transaction drew before may not be in the counter yet. Otherwise the counter says it, and
-- where somebody set that back, the history.
CREATE OR REPLACE FUNCTION mcp_tool_draw_after(counted bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint;
BEGIN
    IF current_setting('toolrail.drawing', TRUE) = txid_current()::text THEN
        SELECT last_value INTO drawn FROM mcp_tool_revision;
    ELSE
        SELECT max(revision) INTO drawn FROM mcp_tool_history;
        PERFORM set_config('toolrail.drawing', txid_current()::text, TRUE);
    END IF;
    RETURN setval('mcp_tool_revision', greatest(counted, drawn));
END
$$;

-- Whether this transaction keeps the count itself: it must also have written that, whatever number stands there.
CREATE OR REPLACE FUNCTION mcp_tool_held(held_by bigint, written_by xid) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(held_by = txid_current() AND written_by::text::bigint = (txid_current() & 4294967295), FALSE)
$$;

CREATE OR REPLACE FUNCTION mcp_tool_begin() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    counted bigint;
    held boolean;
BEGIN
    SELECT version, mcp_tool_held(held_by, xmin) INTO STRICT counted, held
    FROM mcp_config_version WHERE id = 1 FOR UPDATE;
    IF NOT held THEN
        PERFORM mcp_tool_draw_after(counted);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mcp_tool_finish() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    drawn bigint;
BEGIN
    SELECT last_value INTO drawn FROM mcp_tool_revision;
    UPDATE mcp_config_version SET version = drawn
    WHERE id = 1 AND version < drawn AND NOT mcp_tool_held(held_by, xmin);
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mcp_tool_number() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT SET enable_seqscan = off AS $$
DECLARE
    writer text := nullif(current_setting('toolrail.who', TRUE), '');
    mending text := current_setting('toolrail.mending', TRUE);
BEGIN
    IF mending = 'move' THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND mending IN ('adopt', 'mend') THEN
        NEW.version := nextval('mcp_tool_revision');
        NEW.updated_by := OLD.updated_by;
        NEW.updated_at := OLD.updated_at;
        IF mending = 'mend' THEN
            NEW.updated_at := clock_timestamp();
            -- Who wrote it before need not have written it now.
            IF EXISTS (SELECT FROM mcp_tool_history AS version WHERE version.tenant = coalesce(NEW.tenant_id, '')
                       AND version.name_key = lower(NEW.name COLLATE "C") COLLATE "default"
                       AND version.who = NEW.updated_by) THEN
                NEW.updated_by := NULL;
            END IF;
        END IF;
        RETURN NEW;
    END IF;
    -- A rename is two changes: the removal has the number before.
    IF TG_OP = 'UPDATE' AND (coalesce(OLD.tenant_id, ''), lower(OLD.name COLLATE "C"))
            IS DISTINCT FROM (coalesce(NEW.tenant_id, ''), lower(NEW.name COLLATE "C")) THEN
        PERFORM nextval('mcp_tool_revision');
    END IF;
    NEW.version := nextval('mcp_tool_revision');
    NEW.updated_at := clock_timestamp();
    -- Whoever does not say who they are is not taken for the previous writer.
    IF writer IS NOT NULL THEN
        NEW.updated_by := writer;
    ELSIF TG_OP = 'UPDATE' AND NEW.updated_by IS NOT DISTINCT FROM OLD.updated_by THEN
        NEW.updated_by := NULL;
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := coalesce(NEW.created_at, NEW.updated_at);
    END IF;
    RETURN NEW;
END
$$;

-- Tells of a change in two ways: its name on mcp_tool_changed, for any program that listens there, and everything about it
-- on a channel of our own. A notification must stay under 8000 bytes, whatever the name.
CREATE OR REPLACE FUNCTION mcp_tool_tell(op text, name text, tenant text, revision bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    told text := json_build_object('op', op, 'name', name, 'tenant', nullif(tenant, ''), 'revision', revision)::text;
BEGIN
    IF octet_length(told) > 7000 THEN
        told := json_build_object('op', op, 'name', left(name, 400), 'tenant', left(nullif(tenant, ''), 400),
                                  'revision', revision)::text;
    END IF;
    PERFORM pg_notify('toolrail_changed', told);
    PERFORM pg_notify('mcp_tool_changed', left(coalesce(name, ''), 1900));
END
$$;

-- Writes down that a definition is gone: for those who follow the changes, and in its history.
CREATE OR REPLACE FUNCTION mcp_tool_bury(tool mcp_tool, at_revision bigint, writer text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mcp_tool_tombstone (tenant, name_key, version)
    VALUES (coalesce(tool.tenant_id, ''), lower(tool.name COLLATE "C"), at_revision)
    ON CONFLICT (tenant, name_key) DO UPDATE SET version = excluded.version, at = excluded.at;
    INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at, who)
    VALUES (at_revision, coalesce(tool.tenant_id, ''), lower(tool.name COLLATE "C"), tool.name, 'removed',
            coalesce(tool.enabled, FALSE), mcp_tool_document(tool), clock_timestamp(), writer);
END
$$;

-- Every look-up here has an index; a plan made while a table was empty must not outlive that.
CREATE OR REPLACE FUNCTION mcp_tool_record() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT SET enable_seqscan = off AS $$
DECLARE
    writer text := coalesce(nullif(current_setting('toolrail.who', TRUE), ''), session_user);
    what text := CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END;
    mending boolean := coalesce(current_setting('toolrail.mending', TRUE) IN ('adopt', 'mend'), FALSE);
    new_tenant text;
    new_key text;
    drawn bigint;
BEGIN
    IF mcp_tool_is_moving() THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        drawn := nextval('mcp_tool_revision');
        PERFORM mcp_tool_bury(OLD, drawn, writer);
        PERFORM mcp_tool_tell('delete', OLD.name, OLD.tenant_id, drawn);
        RETURN NULL;
    END IF;
    new_tenant := coalesce(NEW.tenant_id, '');
    new_key := lower(NEW.name COLLATE "C");
    writer := coalesce(NEW.updated_by, CASE WHEN NOT mending THEN writer END);
    IF mending THEN
        -- Nobody knows what was done to it; only whether it was there.
        SELECT CASE version.kind WHEN 'removed' THEN 'created' ELSE 'updated' END INTO what
        FROM mcp_tool_history AS version WHERE version.tenant = new_tenant AND version.name_key = new_key
        ORDER BY version.revision DESC LIMIT 1;
        what := coalesce(what, 'created');
    ELSIF TG_OP = 'UPDATE' AND (coalesce(OLD.tenant_id, ''), lower(OLD.name COLLATE "C"))
            IS DISTINCT FROM (new_tenant, new_key) THEN
        what := 'created';
        PERFORM mcp_tool_bury(OLD, NEW.version - 1, writer);
        PERFORM mcp_tool_tell('delete', OLD.name, OLD.tenant_id, NEW.version - 1);
    END IF;
    DELETE FROM mcp_tool_tombstone
    WHERE tenant = new_tenant AND name_key = new_key AND version < NEW.version;
    INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at, who)
    VALUES (NEW.version, new_tenant, new_key, NEW.name, what, coalesce(NEW.enabled, FALSE), mcp_tool_document(NEW),
            NEW.updated_at, writer);
    PERFORM mcp_tool_tell(lower(TG_OP), NEW.name, NEW.tenant_id, NEW.version);
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mcp_tool_clear() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    tool mcp_tool;
    drawn bigint;
BEGIN
    SELECT version INTO STRICT drawn FROM mcp_config_version WHERE id = 1 FOR UPDATE;
    drawn := mcp_tool_draw_after(drawn);
    -- Truncating mcp_tool fires this for each of the two tables.
    FOR tool IN SELECT * FROM mcp_tool AS one WHERE one.tableoid = TG_RELID ORDER BY one.version LOOP
        drawn := nextval('mcp_tool_revision');
        PERFORM mcp_tool_bury(tool, drawn, session_user);
    END LOOP;
    UPDATE mcp_config_version SET version = drawn WHERE id = 1;
    PERFORM mcp_tool_tell('truncate', NULL, NULL, drawn);
    RETURN NULL;
END
$$;

-- Triggers of one kind fire in the order of their names; these come after those of most others, which may stay. They fire
-- also for those who write as a replica does, whose changes would be seen by nobody.
DO $do$
DECLARE
    wanted text[][] := ARRAY[
        ['0_begin', 'BEFORE INSERT OR UPDATE OR DELETE', 'STATEMENT', 'begin'],
        ['0_place', 'BEFORE INSERT OR UPDATE', 'ROW', 'place'],
        ['1_agree', 'BEFORE INSERT OR UPDATE', 'ROW', 'agree'],
        ['2_number', 'BEFORE INSERT OR UPDATE', 'ROW', 'number'],
        ['3_record', 'AFTER INSERT OR UPDATE OR DELETE', 'ROW', 'record'],
        ['4_finish', 'AFTER INSERT OR UPDATE OR DELETE', 'STATEMENT', 'finish'],
        ['5_clear', 'BEFORE TRUNCATE', 'STATEMENT', 'clear']];
    one text[];
    place text;
BEGIN
    FOREACH one SLICE 1 IN ARRAY wanted LOOP
        FOREACH place IN ARRAY ARRAY['mcp_tool', 'mcp_tool_tenant'] LOOP
            EXECUTE format('CREATE TRIGGER trg_mcp_tool_toolrail_%s %s ON %I FOR EACH %s EXECUTE FUNCTION mcp_tool_%s()',
                           one[1], one[2], place, one[3], one[4]);
            EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER trg_mcp_tool_toolrail_%s', place, one[1]);
        END LOOP;
    END LOOP;
END
$do$;

-- Whether all of them are there and fire.
CREATE OR REPLACE FUNCTION toolrail_is_watching() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT count(*) = 14 FROM pg_trigger
    WHERE tgrelid IN (to_regclass('mcp_tool'), to_regclass('mcp_tool_tenant')) AND tgname LIKE 'trg\_mcp\_tool\_toolrail\_%' AND tgenabled = 'A'
$$;
