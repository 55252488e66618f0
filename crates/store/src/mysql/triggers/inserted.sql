CREATE TRIGGER toolrail_inserted AFTER INSERT ON mcp_tool FOR EACH ROW
BEGIN
    DECLARE replaced BOOLEAN DEFAULT FALSE;
    UPDATE mcp_config_version SET live = live + 1 WHERE id = 1;
    -- REPLACE removes the old row after the new one got its number. Whatever is newer than that was done by this very
    -- statement, since the revision is locked.
    SET replaced = EXISTS (SELECT 1 FROM mcp_tool_history
        WHERE revision > NEW.version AND tenant_key = NEW.tenant_key AND name_key = NEW.name_key);
    IF replaced THEN
        DELETE FROM mcp_tool_history
        WHERE revision > NEW.version AND tenant_key = NEW.tenant_key AND name_key = NEW.name_key;
    END IF;
    INSERT INTO mcp_tool_history
        (revision, tenant_key, name_key, tenant, name, kind, enabled, config_json, at, who)
    VALUES (NEW.version, NEW.tenant_key, NEW.name_key, NEW.tenant_id, COALESCE(NEW.name, ''), IF(replaced, 'updated', 'created'),
        COALESCE(NEW.enabled, 0) <> 0, NEW.config_json, UTC_TIMESTAMP(6),
        COALESCE(NEW.updated_by, SUBSTRING_INDEX(USER(), '@', 1)));
END
