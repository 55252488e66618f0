CREATE TABLE IF NOT EXISTS mcp_tool (
    id BIGINT PRIMARY KEY AUTO_INCREMENT,
    name VARCHAR(200) NOT NULL,
    enabled TINYINT(1) NOT NULL DEFAULT 1,
    config_json LONGTEXT NOT NULL,
    version BIGINT NOT NULL DEFAULT 0,
    updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
    updated_by TEXT,
    created_at TIMESTAMP(6) NULL DEFAULT NULL,
    tenant_id VARCHAR(255),
    KEY idx_mcp_tool_updated_at (updated_at),
    KEY idx_mcp_tool_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC
