-- What deploy/quickstart lets sqlite3 do: three hundred thousand measurements of boards, an index, and questions.
PRAGMA cache_size = -8000;
CREATE TABLE reading(id INTEGER PRIMARY KEY, board TEXT, at INTEGER, value REAL);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO reading SELECT i, printf('board-%03d', i % 997), i * 60, (i * 7919 % 100003) / 10.0 FROM n;
COMMIT;
CREATE INDEX by_board ON reading(board, at);
SELECT 'rows:     ' || count(*) FROM reading;
SELECT 'hottest:  ' || board || ' ' || max(value) FROM reading;
SELECT 'boards:   ' || count(*) FROM (SELECT board, avg(value), max(at) FROM reading GROUP BY board);
SELECT 'text:     ' || length(group_concat(board || ':' || value, ';')) FROM reading WHERE id % 7 = 0;
DELETE FROM reading WHERE id % 3 = 0;
SELECT 'remain:   ' || count(*) FROM reading;
