CREATE TRIGGER toolrail_inserting BEFORE INSERT ON mcp_tool FOR EACH ROW
BEGIN
    DECLARE someone, revision_now, live_now BIGINT DEFAULT NULL;
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    SELECT version, live INTO revision_now, live_now FROM mcp_config_version WHERE id = 1;
    -- Somebody has set the revision back: it goes on from the newest version there is.
    IF EXISTS (SELECT 1 FROM mcp_tool_history WHERE revision >= revision_now) THEN
        SET revision_now = (SELECT MAX(revision) + 1 FROM mcp_tool_history);
        UPDATE mcp_config_version SET version = revision_now WHERE id = 1;
    END IF;
    -- Rows that were there are gone, and no trigger saw them go: TRUNCATE. What this transaction sees may be old, so look
    -- again at what is there now.
    IF live_now > 0 AND NOT EXISTS (SELECT 1 FROM mcp_tool) THEN
        SET someone = (SELECT version FROM mcp_tool LIMIT 1 LOCK IN SHARE MODE);
        IF someone IS NULL THEN
            UPDATE mcp_config_version SET live = 0, truncated = TRUE WHERE id = 1;
        END IF;
    END IF;
    SET NEW.version = revision_now;
    SET NEW.updated_by = COALESCE(@toolrail_by, NEW.updated_by);
    {times}
END
