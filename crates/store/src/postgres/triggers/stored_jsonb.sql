-- Where config_json is JSONB, which keeps neither the order of members nor how numbers were written: the text that came in
-- through us stands beside it.

DROP FUNCTION IF EXISTS mcp_tool_stored(text);

-- What config_json has of a definition. JSON that JSONB cannot hold, such as \u0000, is in the text alone.
CREATE FUNCTION mcp_tool_stored(definition text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN definition::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    PERFORM definition::json;
    RETURN 'null';
END
$$;

-- What config_text has of it.
CREATE OR REPLACE FUNCTION mcp_tool_written(definition text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT definition
$$;
