-- mcp_tool itself has one row of each name, so that ON CONFLICT (name) of other programs works there: the shared definition,
-- or else that of the first tenant who needs the name. Those of further tenants are in a table of the same form that inherits
-- from it. Whoever reads, updates or deletes by mcp_tool finds the rows of both.

-- While the triggers are away.
DO $do$
DECLARE
    astray record;
BEGIN
    -- They go along with a table that is renamed, and would count what is written there.
    FOR astray IN
        SELECT tgname, tgrelid::regclass AS place FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE tgname LIKE 'trg\_mcp\_tool\_toolrail\_%' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', astray.tgname, astray.place);
    END LOOP;
    FOR astray IN
        SELECT oid, relname FROM pg_class WHERE oid = to_regclass('mcp_tool_tenant') AND NOT EXISTS
            (SELECT FROM pg_inherits WHERE inhrelid = oid AND inhparent = to_regclass('mcp_tool'))
    LOOP
        EXECUTE format('ALTER TABLE %I RENAME TO %I', astray.relname, astray.relname || '_' || astray.oid);
    END LOOP;
    -- So do indexes, and keep their names from being used again.
    FOR astray IN
        SELECT pg_class.oid, pg_class.relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND ((relname IN ('idx_mcp_tool_version', 'idx_mcp_tool_key', 'idx_mcp_tool_name', 'idx_mcp_tool_folded')
              AND indrelid <> to_regclass('mcp_tool'))
             OR (relname IN ('idx_mcp_tool_tenant_version', 'idx_mcp_tool_tenant_key')
                 AND indrelid IS DISTINCT FROM to_regclass('mcp_tool_tenant')))
    LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', astray.relname, astray.relname || '_' || astray.oid);
    END LOOP;
END
$do$;

CREATE TABLE IF NOT EXISTS mcp_tool_tenant () INHERITS (mcp_tool);

WITH placed AS (
    SELECT ctid AS place, row_number() OVER (PARTITION BY lower(name COLLATE "C")
                                             ORDER BY coalesce(tenant_id, '') <> '', id) AS nth
    FROM ONLY mcp_tool),
moved AS (DELETE FROM ONLY mcp_tool AS tool USING placed WHERE tool.ctid = placed.place AND nth > 1 RETURNING tool.*)
INSERT INTO mcp_tool_tenant SELECT * FROM moved;

CREATE INDEX IF NOT EXISTS idx_mcp_tool_version ON mcp_tool (version);
CREATE INDEX IF NOT EXISTS idx_mcp_tool_tenant_version ON mcp_tool_tenant (version);
-- The collation folds ASCII letters only, wherever the database comes from.
CREATE UNIQUE INDEX IF NOT EXISTS idx_mcp_tool_key ON mcp_tool (coalesce(tenant_id, ''), lower(name COLLATE "C"));
CREATE UNIQUE INDEX IF NOT EXISTS idx_mcp_tool_tenant_key ON mcp_tool_tenant (coalesce(tenant_id, ''), lower(name COLLATE "C"));
CREATE UNIQUE INDEX IF NOT EXISTS idx_mcp_tool_folded ON mcp_tool (lower(name COLLATE "C"));
CREATE UNIQUE INDEX IF NOT EXISTS idx_mcp_tool_name ON mcp_tool (name);

-- Whether rows are only carried from one of the two tables to the other, which changes no definition.
CREATE OR REPLACE FUNCTION mcp_tool_is_moving() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(current_setting('toolrail.mending', TRUE), '') = 'move'
$$;

-- Finds the table for a row that is new or gets another name or tenant. The counter is locked, so nobody else does.
CREATE OR REPLACE FUNCTION mcp_tool_place() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT SET enable_seqscan = off AS $$
DECLARE
    new_tenant text := coalesce(NEW.tenant_id, '');
    new_key text := lower(NEW.name COLLATE "C");
    old_tenant text;
    old_key text;
    in_the_way mcp_tool;
    belongs text := 'mcp_tool';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        old_tenant := coalesce(OLD.tenant_id, '');
        old_key := lower(OLD.name COLLATE "C");
    END IF;
    IF mcp_tool_is_moving() OR (old_tenant = new_tenant AND old_key = new_key) THEN
        RETURN NEW;
    END IF;
    SELECT tool.* INTO in_the_way FROM ONLY mcp_tool AS tool
    WHERE lower(tool.name COLLATE "C") = new_key AND coalesce(tool.tenant_id, '') <> new_tenant
    AND (TG_TABLE_NAME <> 'mcp_tool' OR TG_OP = 'INSERT'
         OR (coalesce(tool.tenant_id, ''), lower(tool.name COLLATE "C")) <> (old_tenant, old_key));
    IF new_tenant <> '' AND (FOUND OR (TG_TABLE_NAME = 'mcp_tool_tenant' AND TG_OP = 'UPDATE')) THEN
        belongs := 'mcp_tool_tenant';
    ELSIF FOUND THEN
        PERFORM set_config('toolrail.mending', 'move', TRUE);
        DELETE FROM ONLY mcp_tool AS tool WHERE lower(tool.name COLLATE "C") = new_key;
        INSERT INTO mcp_tool_tenant SELECT (in_the_way).*;
        PERFORM set_config('toolrail.mending', '', TRUE);
    END IF;
    -- Each table sees to its own rows only.
    IF EXISTS (SELECT FROM mcp_tool AS tool WHERE coalesce(tool.tenant_id, '') = new_tenant
               AND lower(tool.name COLLATE "C") = new_key AND tool.tableoid <> belongs::regclass) THEN
        RAISE unique_violation USING MESSAGE = format('there is a tool %L of that tenant already', NEW.name);
    END IF;
    IF belongs = TG_TABLE_NAME THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.updated_by IS NOT DISTINCT FROM OLD.updated_by THEN
            NEW.updated_by := NULL;
        END IF;
        DELETE FROM mcp_tool AS tool WHERE coalesce(tool.tenant_id, '') = old_tenant
        AND lower(tool.name COLLATE "C") = old_key;
    END IF;
    EXECUTE format('INSERT INTO %I SELECT ($1).*', belongs) USING NEW;
    RETURN NULL;
END
$$;
