-- No interface updates or deletes an entry; the database itself refuses it too.
CREATE TRIGGER journal_entries_stay BEFORE DELETE ON journal_entries
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TRIGGER journal_entries_keep BEFORE UPDATE ON journal_entries
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TRIGGER journal_nodes_stay BEFORE DELETE ON journal_nodes
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TRIGGER journal_nodes_keep BEFORE UPDATE ON journal_nodes
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
