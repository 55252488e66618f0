-- Rows that were here before us: each is one change, and its first version. A revision or versions that the table had
-- are gone on from.

UPDATE mcp_config_version
SET version = greatest(version, coalesce((SELECT max(version) FROM mcp_tool), 0))
WHERE id = 1;

UPDATE mcp_tool AS tool
SET version = numbered.version
FROM (SELECT row_number() OVER (ORDER BY id) + (SELECT version FROM mcp_config_version WHERE id = 1) AS version,
             ctid AS place
      FROM mcp_tool) AS numbered
WHERE tool.ctid = numbered.place;

UPDATE mcp_config_version
SET version = version + (SELECT count(*) FROM mcp_tool)
WHERE id = 1;

INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at, who)
SELECT tool.version, coalesce(tool.tenant_id, ''), lower(tool.name COLLATE "C"), tool.name, 'created',
       coalesce(tool.enabled, FALSE), mcp_tool_document(tool), tool.updated_at, tool.updated_by
FROM mcp_tool AS tool;

INSERT INTO toolrail_meta (name, value)
SELECT 'history_from', version::text FROM mcp_config_version WHERE id = 1 AND version > 0;
