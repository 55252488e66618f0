-- Tenants, every version of every definition, and the audit record. The column tenant_id is there already, and a table
-- that we made has no UNIQUE (name) any more: see adopt.rs and unique.rs.
-- A definition's key is coalesce(tenant_id, '') and lower(name). What stays in the file (tables, indexes, triggers) is
-- kept to what SQLite 3.9 understands, because every program that opens the file parses it.

DROP TRIGGER IF EXISTS trg_mcp_tool_inserted;
DROP TRIGGER IF EXISTS trg_mcp_tool_updated;
DROP TRIGGER IF EXISTS trg_mcp_tool_deleted;
DROP TRIGGER IF EXISTS trg_mcp_tool_replacing;
DROP TRIGGER IF EXISTS trg_mcp_tool_renumbering;

DROP INDEX IF EXISTS idx_mcp_tool_name_key;
CREATE UNIQUE INDEX idx_mcp_tool_name_key ON mcp_tool (coalesce(tenant_id, ''), lower(name));
CREATE INDEX IF NOT EXISTS idx_mcp_tool_updated_at ON mcp_tool (updated_at);
CREATE INDEX IF NOT EXISTS idx_mcp_tool_version ON mcp_tool (version);

CREATE TABLE toolrail_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TEMP TABLE tombstone_before AS SELECT name_key, version FROM mcp_tool_tombstone;
DROP TABLE mcp_tool_tombstone;
CREATE TABLE mcp_tool_tombstone (
    tenant TEXT NOT NULL,
    name_key TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (tenant, name_key)
);
INSERT INTO mcp_tool_tombstone SELECT '', coalesce(name_key, ''), max(version) FROM tombstone_before GROUP BY 2;
DROP TABLE tombstone_before;
CREATE INDEX idx_mcp_tool_tombstone_version ON mcp_tool_tombstone (version);

CREATE TEMP TABLE use_before AS SELECT name_key, use_frequency, last_used FROM mcp_tool_use;
DROP TABLE mcp_tool_use;
CREATE TABLE mcp_tool_use (
    tenant TEXT NOT NULL,
    name_key TEXT NOT NULL,
    use_frequency BIGINT NOT NULL,
    last_used TEXT NOT NULL,
    PRIMARY KEY (tenant, name_key)
);
INSERT INTO mcp_tool_use SELECT '', name_key, use_frequency, last_used FROM use_before WHERE name_key IS NOT NULL;
DROP TABLE use_before;

-- No two rows may have the same version, or reading by versions in pages would miss some. Adopted ones had.
UPDATE mcp_tool SET version = numbered.version
FROM (
    SELECT rowid AS tool,
           (SELECT version FROM mcp_config_version WHERE id = 1) + row_number() OVER (ORDER BY version, rowid) AS version
    FROM mcp_tool
    WHERE version IN (SELECT version FROM mcp_tool GROUP BY version HAVING count(*) > 1)
       OR version NOT BETWEEN 1 AND (SELECT version FROM mcp_config_version WHERE id = 1)
       OR version IS NULL
) AS numbered
WHERE mcp_tool.rowid = numbered.tool;
UPDATE mcp_config_version SET version = max(version, (SELECT coalesce(max(version), 0) FROM mcp_tool)) WHERE id = 1;

-- Nothing here may refuse what another program could write into mcp_tool, hence no NOT NULL beyond the key.
CREATE TABLE mcp_tool_history (
    id INTEGER PRIMARY KEY,
    revision BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    name_key TEXT NOT NULL,
    name TEXT,
    kind TEXT NOT NULL,
    enabled BOOLEAN,
    config_json TEXT,
    at TEXT,
    who TEXT,
    address TEXT,
    via TEXT
);
CREATE INDEX idx_mcp_tool_history_revision ON mcp_tool_history (revision);
CREATE INDEX idx_mcp_tool_history_key ON mcp_tool_history (tenant, name_key, revision);

INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at, who)
SELECT version, coalesce(tenant_id, ''), coalesce(lower(name), ''), name, 'created', enabled, config_json, updated_at, updated_by
FROM mcp_tool ORDER BY version;

-- What was before is not known.
INSERT INTO toolrail_meta SELECT 'history_floor', version FROM mcp_config_version WHERE id = 1 AND version > 0;

CREATE TABLE mcp_tool_audit (
    number BIGINT PRIMARY KEY,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    address TEXT,
    via TEXT NOT NULL,
    action TEXT NOT NULL,
    tenant TEXT,
    name TEXT NOT NULL,
    revision BIGINT NOT NULL,
    changes TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
);

CREATE TRIGGER trg_mcp_tool_audit_changing BEFORE UPDATE ON mcp_tool_audit
BEGIN
    SELECT raise(ABORT, 'entries of the audit record are never changed');
END;

CREATE TRIGGER trg_mcp_tool_audit_removing BEFORE DELETE ON mcp_tool_audit
BEGIN
    SELECT raise(ABORT, 'entries of the audit record are never removed');
END;

-- In each trigger below, the first statement finds the rows that REPLACE removed without firing a delete trigger: the
-- two triggers at the end left a tombstone with the current revision, but only now is it known that they are gone.
CREATE TRIGGER trg_mcp_tool_inserted AFTER INSERT ON mcp_tool
BEGIN
    INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at)
    SELECT gone.version, gone.tenant, gone.name_key, last.name, 'removed', last.enabled, last.config_json,
           strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    FROM mcp_tool_tombstone AS gone, mcp_tool_history AS last
    WHERE gone.version = (SELECT version FROM mcp_config_version WHERE id = 1)
      AND last.id = (SELECT id FROM mcp_tool_history WHERE tenant = gone.tenant AND name_key = gone.name_key
                     ORDER BY revision DESC LIMIT 1)
      AND last.kind <> 'removed'
      AND NOT EXISTS (SELECT 1 FROM mcp_tool WHERE coalesce(tenant_id, '') = gone.tenant AND lower(name) = gone.name_key);
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    UPDATE mcp_tool
    SET version = (SELECT version FROM mcp_config_version WHERE id = 1),
        updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
        created_at = coalesce(created_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    WHERE rowid = NEW.rowid;
    DELETE FROM mcp_tool_tombstone
    WHERE tenant = coalesce(NEW.tenant_id, '') AND name_key = coalesce(lower(NEW.name), '');
    INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at, who)
    SELECT version, coalesce(NEW.tenant_id, ''), coalesce(lower(NEW.name), ''), NEW.name,
           CASE coalesce((SELECT kind FROM mcp_tool_history
                          WHERE tenant = coalesce(NEW.tenant_id, '') AND name_key = coalesce(lower(NEW.name), '')
                          ORDER BY revision DESC LIMIT 1), 'removed')
           WHEN 'removed' THEN 'created' ELSE 'updated' END,
           NEW.enabled, NEW.config_json, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.updated_by
    FROM mcp_config_version WHERE id = 1;
END;

-- Whoever does not say who they are is not taken for the previous writer. Another name or tenant is a removal and a row.
CREATE TRIGGER trg_mcp_tool_updated AFTER UPDATE OF id, name, enabled, config_json, tenant_id ON mcp_tool
BEGIN
    INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at)
    SELECT gone.version, gone.tenant, gone.name_key, last.name, 'removed', last.enabled, last.config_json,
           strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    FROM mcp_tool_tombstone AS gone, mcp_tool_history AS last
    WHERE gone.version = (SELECT version FROM mcp_config_version WHERE id = 1)
      AND last.id = (SELECT id FROM mcp_tool_history WHERE tenant = gone.tenant AND name_key = gone.name_key
                     ORDER BY revision DESC LIMIT 1)
      AND last.kind <> 'removed'
      AND NOT EXISTS (SELECT 1 FROM mcp_tool WHERE coalesce(tenant_id, '') = gone.tenant AND lower(name) = gone.name_key);

    UPDATE mcp_config_version SET version = version + 1
    WHERE id = 1 AND (coalesce(OLD.tenant_id, '') <> coalesce(NEW.tenant_id, '')
                      OR coalesce(lower(OLD.name), '') <> coalesce(lower(NEW.name), ''));
    DELETE FROM mcp_tool_tombstone
    WHERE tenant = coalesce(OLD.tenant_id, '') AND name_key = coalesce(lower(OLD.name), '');
    DELETE FROM mcp_tool_tombstone
    WHERE tenant = coalesce(NEW.tenant_id, '') AND name_key = coalesce(lower(NEW.name), '');
    INSERT INTO mcp_tool_tombstone (tenant, name_key, version)
    SELECT coalesce(OLD.tenant_id, ''), coalesce(lower(OLD.name), ''), version FROM mcp_config_version
    WHERE id = 1 AND (coalesce(OLD.tenant_id, '') <> coalesce(NEW.tenant_id, '')
                      OR coalesce(lower(OLD.name), '') <> coalesce(lower(NEW.name), ''));
    INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at, who)
    SELECT version, coalesce(OLD.tenant_id, ''), coalesce(lower(OLD.name), ''), OLD.name, 'removed',
           OLD.enabled, OLD.config_json, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
           CASE WHEN NEW.updated_by IS OLD.updated_by THEN NULL ELSE NEW.updated_by END
    FROM mcp_config_version
    WHERE id = 1 AND (coalesce(OLD.tenant_id, '') <> coalesce(NEW.tenant_id, '')
                      OR coalesce(lower(OLD.name), '') <> coalesce(lower(NEW.name), ''))
      AND coalesce((SELECT kind FROM mcp_tool_history
                    WHERE tenant = coalesce(OLD.tenant_id, '') AND name_key = coalesce(lower(OLD.name), '')
                    ORDER BY revision DESC LIMIT 1), 'removed') <> 'removed';

    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    UPDATE mcp_tool
    SET version = (SELECT version FROM mcp_config_version WHERE id = 1),
        updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
        updated_by = CASE WHEN NEW.updated_by IS OLD.updated_by THEN NULL ELSE NEW.updated_by END
    WHERE rowid = NEW.rowid;
    INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at, who)
    SELECT version, coalesce(NEW.tenant_id, ''), coalesce(lower(NEW.name), ''), NEW.name,
           CASE coalesce((SELECT kind FROM mcp_tool_history
                          WHERE tenant = coalesce(NEW.tenant_id, '') AND name_key = coalesce(lower(NEW.name), '')
                          ORDER BY revision DESC LIMIT 1), 'removed')
           WHEN 'removed' THEN 'created' ELSE 'updated' END,
           NEW.enabled, NEW.config_json, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
           CASE WHEN NEW.updated_by IS OLD.updated_by THEN NULL ELSE NEW.updated_by END
    FROM mcp_config_version WHERE id = 1;
END;

CREATE TRIGGER trg_mcp_tool_deleted AFTER DELETE ON mcp_tool
BEGIN
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    DELETE FROM mcp_tool_tombstone
    WHERE tenant = coalesce(OLD.tenant_id, '') AND name_key = coalesce(lower(OLD.name), '');
    INSERT INTO mcp_tool_tombstone (tenant, name_key, version)
    SELECT coalesce(OLD.tenant_id, ''), coalesce(lower(OLD.name), ''), version FROM mcp_config_version WHERE id = 1;
    INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at)
    SELECT version, coalesce(OLD.tenant_id, ''), coalesce(lower(OLD.name), ''), OLD.name, 'removed',
           OLD.enabled, OLD.config_json, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    FROM mcp_config_version WHERE id = 1;
END;

-- A version that somebody made up would hide the row from readers, or others behind it.
CREATE TRIGGER trg_mcp_tool_misnumbered AFTER UPDATE OF version ON mcp_tool
WHEN NEW.version IS NOT OLD.version
 AND NEW.version IS NOT (SELECT version FROM mcp_config_version WHERE id = 1)
 AND NOT EXISTS (SELECT 1 FROM mcp_tool_history
                 WHERE tenant = coalesce(NEW.tenant_id, '') AND name_key = coalesce(lower(NEW.name), '')
                   AND revision = NEW.version)
BEGIN
    UPDATE mcp_tool SET version = OLD.version WHERE rowid = NEW.rowid AND version IS NEW.version;
END;

-- REPLACE removes the row that holds the new row's id without firing a delete trigger. These two run before it is
-- known whether the statement replaces, ignores or fails, so a tombstone may stand beside a living row: readers check.
CREATE TRIGGER trg_mcp_tool_replacing BEFORE INSERT ON mcp_tool
WHEN EXISTS (SELECT 1 FROM mcp_tool WHERE id = NEW.id OR rowid = NEW.rowid)
BEGIN
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    DELETE FROM mcp_tool_tombstone
    WHERE EXISTS (SELECT 1 FROM mcp_tool WHERE (id = NEW.id OR rowid = NEW.rowid)
                  AND coalesce(tenant_id, '') = tenant AND coalesce(lower(name), '') = name_key);
    INSERT INTO mcp_tool_tombstone (tenant, name_key, version)
    SELECT DISTINCT coalesce(mcp_tool.tenant_id, ''), coalesce(lower(mcp_tool.name), ''), mcp_config_version.version
    FROM mcp_tool, mcp_config_version
    WHERE (mcp_tool.id = NEW.id OR mcp_tool.rowid = NEW.rowid) AND mcp_config_version.id = 1;
END;

CREATE TRIGGER trg_mcp_tool_renumbering BEFORE UPDATE OF id ON mcp_tool
WHEN NEW.id <> OLD.id AND EXISTS (SELECT 1 FROM mcp_tool WHERE id = NEW.id)
BEGIN
    UPDATE mcp_config_version SET version = version + 1 WHERE id = 1;
    DELETE FROM mcp_tool_tombstone
    WHERE EXISTS (SELECT 1 FROM mcp_tool WHERE id = NEW.id
                  AND coalesce(tenant_id, '') = tenant AND coalesce(lower(name), '') = name_key);
    INSERT INTO mcp_tool_tombstone (tenant, name_key, version)
    SELECT DISTINCT coalesce(mcp_tool.tenant_id, ''), coalesce(lower(mcp_tool.name), ''), mcp_config_version.version
    FROM mcp_tool, mcp_config_version
    WHERE mcp_tool.id = NEW.id AND mcp_config_version.id = 1;
END;
