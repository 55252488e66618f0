-- What is learnt from use: after which queries a tool was called. `learnt_number` in toolrail_meta counts what is written
-- here and to mcp_tool_use, so that every gateway reads only what is new; `queries_forgotten` is the number of the last
-- time that more than single tools was forgotten.

CREATE TABLE mcp_tool_query (
    -- Whose calls these were; '' for those without a tenant.
    tenant TEXT NOT NULL,
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
UPDATE mcp_tool_use SET number = numbered.number
FROM (SELECT rowid AS used, row_number() OVER (ORDER BY last_used, rowid) AS number FROM mcp_tool_use) AS numbered
WHERE mcp_tool_use.rowid = numbered.used;
CREATE INDEX idx_mcp_tool_use_number ON mcp_tool_use (number);

INSERT INTO toolrail_meta SELECT 'learnt_number', count(*) FROM mcp_tool_use;
INSERT INTO toolrail_meta VALUES ('queries_forgotten', '0');
