-- The definition that a row holds, as JSON text.
CREATE OR REPLACE FUNCTION mcp_tool_document(tool mcp_tool) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((tool).config_json::text, 'null')
$$;
