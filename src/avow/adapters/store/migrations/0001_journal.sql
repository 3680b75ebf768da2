-- The journal: entries in gapless order, the head they hang from, texts that may be erased,
-- and every fourth level of the Merkle tree so that proofs need few reads.
CREATE TABLE journal_heads (
  tenant TEXT NOT NULL PRIMARY KEY,
  position BIGINT NOT NULL,
  hash TEXT NOT NULL,
  frontier {bytes} NOT NULL
);

CREATE TABLE journal_entries (
  tenant TEXT NOT NULL,
  position BIGINT NOT NULL,
  hash TEXT NOT NULL,
  body {bytes} NOT NULL,
  PRIMARY KEY (tenant, position)
);

CREATE TABLE journal_texts (
  tenant TEXT NOT NULL,
  position BIGINT NOT NULL,
  field TEXT NOT NULL,
  salt {bytes} NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (tenant, position, field)
);

CREATE TABLE journal_nodes (
  tenant TEXT NOT NULL,
  level BIGINT NOT NULL,
  place BIGINT NOT NULL,
  hash {bytes} NOT NULL,
  PRIMARY KEY (tenant, level, place)
);
