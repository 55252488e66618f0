CREATE TRIGGER toolrail_deleted AFTER DELETE ON mcp_tool FOR EACH ROW
BEGIN
    DECLARE revision_now BIGINT DEFAULT 0;
    UPDATE mcp_config_version SET version = version + 1, live = live - IF(OLD.version = 0 OR live = 0, 0, 1)
    WHERE id = 1;
    SET revision_now = (SELECT version FROM mcp_config_version WHERE id = 1);
    -- Somebody has set the revision back: it goes on from the newest version there is.
    IF EXISTS (SELECT 1 FROM mcp_tool_history WHERE revision >= revision_now) THEN
        SET revision_now = (SELECT MAX(revision) + 1 FROM mcp_tool_history);
        UPDATE mcp_config_version SET version = revision_now WHERE id = 1;
    END IF;
    REPLACE INTO mcp_tool_tombstone (tenant_key, name_key, version)
    VALUES (OLD.tenant_key, OLD.name_key, revision_now);
    INSERT INTO mcp_tool_history
        (revision, tenant_key, name_key, tenant, name, kind, enabled, config_json, at, who)
    VALUES (revision_now, OLD.tenant_key, OLD.name_key, OLD.tenant_id, COALESCE(OLD.name, ''), 'removed',
        COALESCE(OLD.enabled, 0) <> 0, OLD.config_json, UTC_TIMESTAMP(6),
        COALESCE(@toolrail_by, SUBSTRING_INDEX(USER(), '@', 1)));
END
