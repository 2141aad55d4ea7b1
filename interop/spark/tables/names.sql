-- Names that have to be quoted, and folders that hash, move or escape what is written into them.
create table {table} (`Id` bigint not null, `a.b` string, `with space` int, `ünï` string, `select` struct<`x.y`: int, `Z`: string>,
    `_file2` string) using iceberg partitioned by (`a.b`, truncate(2, `ünï`))
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}',
    'write.object-storage.enabled' = 'true', 'write.metadata.compression-codec' = 'gzip', 'write.delete.mode' = 'merge-on-read');

insert into {table} values (1, 'x y', 1, 'äöü', struct(1, 'z'), 'f'), (2, 'a%2Fb', 2, '日本語', struct(2, 'z'), 'f'),
    (3, '', 3, '', null, null), (4, null, null, null, null, null), (5, '#?&+=:', 5, '🦀🦀🦀', struct(5, null), '');
alter table {table} set tblproperties ('write.object-storage.partitioned-paths' = 'false');
insert into {table} values (6, 'x y', 6, 'äöü', struct(6, 'z'), 'f');
alter table {table} set tblproperties ('write.object-storage.enabled' = 'false');
insert into {table} values (7, '#?&+=:', 7, '🦀🦀🦀', struct(7, 'z'), 'f');
delete from {table} where `Id` in (1, 5);
