-- The bookkeeping, whoever writes. Before a statement the counter is locked until the end of the transaction, so
-- that revisions become visible in their order; then each row gets its number; then each is written down.
-- As their owner, with a fixed search_path: whoever may write mcp_tool needs no right on anything else.

CREATE OR REPLACE FUNCTION mcp_tool_begin() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    current_revision bigint;
    held boolean;
BEGIN
    SELECT version, held_by = txid_current() INTO STRICT current_revision, held
    FROM mcp_config_version WHERE id = 1 FOR UPDATE;
    IF held THEN
        RETURN NULL;
    END IF;
    -- Within another statement of this transaction, numbers may have been drawn that are not in the counter yet.
    IF pg_trigger_depth() > 1 THEN
        SELECT greatest(current_revision, last_value) INTO current_revision FROM mcp_tool_revision;
    END IF;
    PERFORM setval('mcp_tool_revision', current_revision);
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
    WHERE id = 1 AND version < drawn AND held_by IS DISTINCT FROM txid_current();
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mcp_tool_number() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    writer text := nullif(current_setting('toolrail.who', TRUE), '');
BEGIN
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

-- A notification must stay under 8000 bytes, whatever the name.
CREATE OR REPLACE FUNCTION mcp_tool_tell(op text, name text, tenant text, revision bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    told text := json_build_object('op', op, 'name', name, 'tenant', nullif(tenant, ''), 'revision', revision)::text;
BEGIN
    IF octet_length(told) > 7000 THEN
        told := json_build_object('op', op, 'name', left(name, 400), 'tenant', left(nullif(tenant, ''), 400),
                                  'revision', revision)::text;
    END IF;
    PERFORM pg_notify('mcp_tool_changed', told);
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
    new_tenant text;
    new_key text;
    drawn bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN
        drawn := nextval('mcp_tool_revision');
        PERFORM mcp_tool_bury(OLD, drawn, writer);
        PERFORM mcp_tool_tell('delete', OLD.name, OLD.tenant_id, drawn);
        RETURN NULL;
    END IF;
    new_tenant := coalesce(NEW.tenant_id, '');
    new_key := lower(NEW.name COLLATE "C");
    writer := coalesce(NEW.updated_by, writer);
    IF TG_OP = 'UPDATE' AND (coalesce(OLD.tenant_id, ''), lower(OLD.name COLLATE "C"))
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
    PERFORM setval('mcp_tool_revision', drawn);
    FOR tool IN SELECT * FROM mcp_tool ORDER BY version LOOP
        drawn := nextval('mcp_tool_revision');
        PERFORM mcp_tool_bury(tool, drawn, session_user);
    END LOOP;
    UPDATE mcp_config_version SET version = drawn WHERE id = 1;
    PERFORM mcp_tool_tell('truncate', NULL, NULL, drawn);
    RETURN NULL;
END
$$;

-- Triggers of one kind fire in the order of their names; these come after those of most others.
CREATE TRIGGER trg_mcp_tool_toolrail_0_begin BEFORE INSERT OR UPDATE OR DELETE ON mcp_tool
FOR EACH STATEMENT EXECUTE FUNCTION mcp_tool_begin();
CREATE TRIGGER trg_mcp_tool_toolrail_2_number BEFORE INSERT OR UPDATE ON mcp_tool
FOR EACH ROW EXECUTE FUNCTION mcp_tool_number();
CREATE TRIGGER trg_mcp_tool_toolrail_3_record AFTER INSERT OR UPDATE OR DELETE ON mcp_tool
FOR EACH ROW EXECUTE FUNCTION mcp_tool_record();
CREATE TRIGGER trg_mcp_tool_toolrail_4_finish AFTER INSERT OR UPDATE OR DELETE ON mcp_tool
FOR EACH STATEMENT EXECUTE FUNCTION mcp_tool_finish();
CREATE TRIGGER trg_mcp_tool_toolrail_5_clear BEFORE TRUNCATE ON mcp_tool
FOR EACH STATEMENT EXECUTE FUNCTION mcp_tool_clear();
