-- Work for sqlite3: rows, an index, a sort that spills into memory, text functions.
CREATE TABLE reading(id INTEGER PRIMARY KEY, board TEXT, at INTEGER, value REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO reading SELECT i, printf('board-%03d', i % 97), i * 60, (i * 7919 % 10007) / 10.0 FROM n;
CREATE INDEX by_board ON reading(board, at);
SELECT count(*), sum(value) FROM reading;
SELECT board, count(*), max(value) FROM reading GROUP BY board ORDER BY 3 DESC, 1 LIMIT 5;
SELECT length(group_concat(upper(board) || ':' || value, ';')) FROM (SELECT * FROM reading ORDER BY value, id);
DELETE FROM reading WHERE id % 3 = 0;
SELECT count(*) FROM reading;
SELECT no_such_column FROM reading;
