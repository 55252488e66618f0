-- Where config_json keeps a text as it was written: JSON or text.

DROP FUNCTION IF EXISTS mcp_tool_stored(text);

-- What config_json has of a definition.
CREATE FUNCTION mcp_tool_stored(definition text) RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT definition::json
$$;

-- What config_text has of it: nothing.
CREATE OR REPLACE FUNCTION mcp_tool_written(definition text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT NULL::text
$$;
