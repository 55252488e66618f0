-- Versions that a table had before us are gone on from.
UPDATE mcp_config_version
SET version = greatest(version, coalesce((SELECT max(version) FROM mcp_tool), 0))
WHERE id = 1;
