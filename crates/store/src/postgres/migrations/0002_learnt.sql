-- What is learnt from use: after which queries a tool was called. `learnt_number` in toolrail_meta counts what is written
-- here and to mcp_tool_use, so that every gateway reads only what is new; whoever writes holds that row until the commit,
-- so that no number is seen before a smaller one. `queries_forgotten` is the number of the last time that more than single
-- tools was forgotten.

CREATE TABLE mcp_tool_query (
    -- Whose calls these were; '' for those without a tenant.
    tenant TEXT NOT NULL DEFAULT '',
    name_key TEXT NOT NULL,
    -- [{"query", "times", "last"}, …]; empty if they were forgotten.
    queries TEXT NOT NULL,
    -- When something was last learnt or forgotten, in seconds since 1970.
    last_at BIGINT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (tenant, name_key)
);

CREATE INDEX idx_mcp_tool_query_number ON mcp_tool_query (number);

ALTER TABLE mcp_tool_use ADD COLUMN number BIGINT NOT NULL DEFAULT 0;

UPDATE mcp_tool_use AS used SET number = numbered.number
FROM (SELECT tenant, name_key, row_number() OVER (ORDER BY last_used, tenant, name_key) AS number FROM mcp_tool_use)
    AS numbered
WHERE used.tenant = numbered.tenant AND used.name_key = numbered.name_key;

CREATE INDEX idx_mcp_tool_use_number ON mcp_tool_use (number);

INSERT INTO toolrail_meta (name, value) SELECT 'learnt_number', count(*)::text FROM mcp_tool_use;
INSERT INTO toolrail_meta (name, value) VALUES ('queries_forgotten', '0');
