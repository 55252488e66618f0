-- Definitions, one revision for all of them, and the triggers that move it whoever writes.
-- Rows are addressed by rowid, since an adopted table may have an id that is not its alias.
-- Kept to what SQLite 3.9 understands (no upsert inside triggers), because every program that opens the file parses it.

CREATE TABLE IF NOT EXISTS mcp_tool (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    enabled BOOLEAN NOT NULL DEFAULT 1,
    config_json TEXT NOT NULL,
    version BIGINT NOT NULL DEFAULT 0,
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_by TEXT,
    created_at TEXT
);

CREATE INDEX IF NOT EXISTS idx_mcp_tool_updated_at ON mcp_tool (updated_at);
CREATE INDEX IF NOT EXISTS idx_mcp_tool_version ON mcp_tool (version);
CREATE UNIQUE INDEX IF NOT EXISTS idx_mcp_tool_name_key ON mcp_tool (lower(name));

CREATE TABLE IF NOT EXISTS mcp_config_version (
    id SMALLINT PRIMARY KEY DEFAULT 1,
    version BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS mcp_tool_tombstone (
    name_key TEXT PRIMARY KEY,
    version BIGINT NOT NULL
);

CREATE INDEX IF NOT EXISTS idx_mcp_tool_tombstone_version ON mcp_tool_tombstone (version);

CREATE TABLE IF NOT EXISTS mcp_tool_use (
    name_key TEXT PRIMARY KEY,
    use_frequency BIGINT NOT NULL,
    last_used TEXT NOT NULL
);

INSERT INTO mcp_config_version (id, version)
SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM mcp_config_version WHERE id = 1);

-- Rows of a table that was here before us count as one change.
UPDATE mcp_config_version SET version = version + 1
WHERE id = 1 AND EXISTS (SELECT 1 FROM mcp_tool);
UPDATE mcp_tool SET version = (SELECT version FROM mcp_config_version WHERE id = 1);

DROP TRIGGER IF EXISTS trg_mcp_tool_inserted;
DROP TRIGGER IF EXISTS trg_mcp_tool_updated;
DROP TRIGGER IF EXISTS trg_mcp_tool_deleted;
DROP TRIGGER IF EXISTS trg_mcp_tool_replacing;
DROP TRIGGER IF EXISTS trg_mcp_tool_renumbering;

CREATE TRIGGER trg_mcp_tool_inserted AFTER INSERT ON mcp_tool
BEGIN
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    UPDATE mcp_tool
    SET version = (SELECT version FROM mcp_config_version WHERE id = 1),
        updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
        created_at = coalesce(created_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    WHERE rowid = NEW.rowid;
    DELETE FROM mcp_tool_tombstone WHERE name_key = lower(NEW.name);
END;

-- Whoever does not say who they are is not taken for the previous writer.
CREATE TRIGGER trg_mcp_tool_updated AFTER UPDATE OF id, name, enabled, config_json ON mcp_tool
BEGIN
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    UPDATE mcp_tool
    SET version = (SELECT version FROM mcp_config_version WHERE id = 1),
        updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
        updated_by = CASE WHEN NEW.updated_by IS OLD.updated_by THEN NULL ELSE NEW.updated_by END
    WHERE rowid = NEW.rowid;
    DELETE FROM mcp_tool_tombstone WHERE name_key IN (lower(OLD.name), lower(NEW.name));
    INSERT INTO mcp_tool_tombstone (name_key, version)
    SELECT lower(OLD.name), version FROM mcp_config_version
    WHERE id = 1 AND lower(OLD.name) <> lower(NEW.name);
END;

CREATE TRIGGER trg_mcp_tool_deleted AFTER DELETE ON mcp_tool
BEGIN
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    DELETE FROM mcp_tool_tombstone WHERE name_key = lower(OLD.name);
    INSERT INTO mcp_tool_tombstone (name_key, version)
    SELECT lower(OLD.name), version FROM mcp_config_version WHERE id = 1;
END;

-- REPLACE removes the row that holds the new row's id without firing a delete trigger. These two run before it is
-- known whether the statement replaces, ignores or fails, so a tombstone may stand beside a living row: readers check.
CREATE TRIGGER trg_mcp_tool_replacing BEFORE INSERT ON mcp_tool
WHEN EXISTS (SELECT 1 FROM mcp_tool WHERE id = NEW.id OR rowid = NEW.rowid)
BEGIN
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    DELETE FROM mcp_tool_tombstone
    WHERE name_key IN (SELECT lower(name) FROM mcp_tool WHERE id = NEW.id OR rowid = NEW.rowid);
    INSERT INTO mcp_tool_tombstone (name_key, version)
    SELECT lower(mcp_tool.name), mcp_config_version.version FROM mcp_tool, mcp_config_version
    WHERE (mcp_tool.id = NEW.id OR mcp_tool.rowid = NEW.rowid) AND mcp_config_version.id = 1;
END;

CREATE TRIGGER trg_mcp_tool_renumbering BEFORE UPDATE OF id ON mcp_tool
WHEN NEW.id <> OLD.id AND EXISTS (SELECT 1 FROM mcp_tool WHERE id = NEW.id)
BEGIN
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    DELETE FROM mcp_tool_tombstone
    WHERE name_key IN (SELECT lower(name) FROM mcp_tool WHERE id = NEW.id);
    INSERT INTO mcp_tool_tombstone (name_key, version)
    SELECT lower(mcp_tool.name), mcp_config_version.version FROM mcp_tool, mcp_config_version
    WHERE mcp_tool.id = NEW.id AND mcp_config_version.id = 1;
END;
