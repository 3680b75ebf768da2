-- No interface updates or deletes an entry; the database itself refuses it too.
-- The single row of journal_writer is what a writing transaction takes first, on whatever node.
CREATE FUNCTION refuse_change() RETURNS trigger AS
$$ BEGIN RAISE EXCEPTION 'the journal is append-only'; END $$ LANGUAGE plpgsql;

CREATE TRIGGER journal_entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON journal_entries
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER journal_nodes_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON journal_nodes
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE journal_writer (single BIGINT PRIMARY KEY);

INSERT INTO journal_writer (single) VALUES (1);
