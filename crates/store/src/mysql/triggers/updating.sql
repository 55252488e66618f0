CREATE TRIGGER toolrail_updating BEFORE UPDATE ON mcp_tool FOR EACH ROW
BEGIN
    -- A rename, or a move to another tenant, is two changes: a removal and a creation.
    DECLARE steps INT DEFAULT 1;
    DECLARE revision_now BIGINT DEFAULT 0;
    IF NOT (CAST(NEW.name AS BINARY) <=> CAST(OLD.name AS BINARY) AND CAST(NEW.tenant_id AS BINARY) <=> CAST(OLD.tenant_id AS BINARY))
        AND ({name_key} <> OLD.name_key OR {tenant_key} <> OLD.tenant_key) THEN
        SET steps = 2;
    END IF;
    UPDATE mcp_config_version SET version = version + steps WHERE id = 1;
    SET revision_now = (SELECT version FROM mcp_config_version WHERE id = 1);
    -- Somebody has set the revision back: it goes on from the newest version there is.
    IF EXISTS (SELECT 1 FROM mcp_tool_history WHERE revision > revision_now - steps) THEN
        SET revision_now = (SELECT MAX(revision) + steps FROM mcp_tool_history);
        UPDATE mcp_config_version SET version = revision_now WHERE id = 1;
    END IF;
    SET NEW.version = revision_now;
    -- A row that is only being numbered keeps its time. Whoever does not say who they are is not taken for the previous
    -- writer.
    IF @toolrail_numbering IS NULL THEN
        SET NEW.updated_by = IF(@toolrail_by IS NOT NULL, @toolrail_by,
            IF(NEW.updated_by <=> OLD.updated_by, NULL, NEW.updated_by));
        {times}
    END IF;
END
