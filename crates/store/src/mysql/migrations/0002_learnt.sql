-- What is learnt from use: after which queries a tool was called. `learnt_number` in toolrail_meta counts what is written
-- here and to mcp_tool_use, so that every gateway reads only what is new; whoever writes locks that row.
-- `queries_forgotten` is the number of the last time that more than single tools was forgotten. Each statement may be
-- repeated.

CREATE TABLE IF NOT EXISTS mcp_tool_query (
    -- Whose calls these were; '' for those without a tenant.
    tenant_key VARBINARY(1020) NOT NULL,
    name_key VARBINARY(2000) NOT NULL,
    -- [{"query", "times", "last"}, …]; empty if they were forgotten.
    queries LONGTEXT NOT NULL,
    -- When something was last learnt or forgotten, in seconds since 1970.
    last_at BIGINT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (tenant_key, name_key),
    KEY idx_mcp_tool_query_number (number)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

INSERT IGNORE INTO toolrail_meta (name, value) VALUES ('learnt_number', '0'), ('queries_forgotten', '0');
