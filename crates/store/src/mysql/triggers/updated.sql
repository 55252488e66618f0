CREATE TRIGGER toolrail_updated AFTER UPDATE ON mcp_tool FOR EACH ROW
BEGIN
    DECLARE moved BOOLEAN DEFAULT NEW.name_key <> OLD.name_key OR NEW.tenant_key <> OLD.tenant_key;
    -- Version 0: the row was there before these triggers, and is new to them.
    IF OLD.version = 0 THEN
        UPDATE mcp_config_version SET live = live + 1 WHERE id = 1;
    ELSEIF moved THEN
        REPLACE INTO mcp_tool_tombstone (tenant_key, name_key, version)
        VALUES (OLD.tenant_key, OLD.name_key, NEW.version - 1);
        INSERT INTO mcp_tool_history
            (revision, tenant_key, name_key, tenant, name, kind, enabled, config_json, at, who)
        VALUES (NEW.version - 1, OLD.tenant_key, OLD.name_key, OLD.tenant_id, COALESCE(OLD.name, ''), 'removed',
            COALESCE(OLD.enabled, 0) <> 0, OLD.config_json, UTC_TIMESTAMP(6),
            COALESCE(NEW.updated_by, SUBSTRING_INDEX(USER(), '@', 1)));
    END IF;
    INSERT INTO mcp_tool_history
        (revision, tenant_key, name_key, tenant, name, kind, enabled, config_json, at, who)
    VALUES (NEW.version, NEW.tenant_key, NEW.name_key, NEW.tenant_id, COALESCE(NEW.name, ''),
        IF(moved OR ((OLD.version = 0 OR @toolrail_numbering IS NOT NULL) AND COALESCE((SELECT kind FROM mcp_tool_history
            WHERE tenant_key = NEW.tenant_key AND name_key = NEW.name_key ORDER BY revision DESC LIMIT 1),
            'removed') = 'removed'), 'created', 'updated'),
        COALESCE(NEW.enabled, 0) <> 0, NEW.config_json, UTC_TIMESTAMP(6),
        -- Who wrote a row before these triggers is not known, unless it says so.
        COALESCE(NEW.updated_by, IF(@toolrail_numbering IS NULL, SUBSTRING_INDEX(USER(), '@', 1), NULL)));
END
