-- What it returns may be another table's by now.
DROP FUNCTION IF EXISTS mcp_tool_page(bigint, bigint, bigint);

-- The rows after a version, in their order, until they are too many or too large; the reader drops what is beyond that. A
-- loop, so that what is left for the next page is not even looked at.
CREATE FUNCTION mcp_tool_page(since bigint, most bigint, most_bytes bigint) RETURNS SETOF mcp_tool
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE
    tool mcp_tool;
    bytes bigint := 0;
BEGIN
    FOR tool IN SELECT * FROM mcp_tool WHERE version > since ORDER BY version LIMIT most LOOP
        RETURN NEXT tool;
        EXIT WHEN bytes > most_bytes;
        bytes := bytes + octet_length(mcp_tool_document(tool));
    END LOOP;
END
$$;
