-- Each compression that is written, pages and row groups of odd sizes, and statistics of all kinds.
create table {table} (id bigint not null, name string, raw binary, list array<int>) using iceberg
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.delete.mode' = 'merge-on-read');

insert into {table} select id, concat('n', id % 5), cast(concat('r', id) as binary), array(int(id), null) from range(0, 50);
alter table {table} set tblproperties ('write.parquet.compression-codec' = 'snappy');
insert into {table} select id, concat('n', id % 5), cast(concat('r', id) as binary), array() from range(50, 70);
alter table {table} set tblproperties ('write.parquet.compression-codec' = 'gzip',
    'write.metadata.metrics.default' = 'none');
insert into {table} select id, concat('n', id % 5), null, array(int(id)) from range(70, 90);
alter table {table} set tblproperties ('write.parquet.compression-codec' = 'lz4_raw', 'write.metadata.metrics.default' = 'counts');
insert into {table} select id, concat('n', id % 5), X'00', null from range(90, 110);
alter table {table} set tblproperties ('write.parquet.compression-codec' = 'uncompressed',
    'write.metadata.metrics.default' = 'full', 'write.parquet.row-group-size-bytes' = '2000', 'write.parquet.page-size-bytes' = '300',
    'write.parquet.page-row-limit' = '20', 'write.parquet.row-group-check-min-record-count' = '10',
    'write.parquet.row-group-check-max-record-count' = '10');
insert into {table} select id, concat('n', id), cast(concat('r', id) as binary), sequence(0, int(id % 4)) from range(110, 700);
alter table {table} set tblproperties ('write.parquet.bloom-filter-enabled.column.id' = 'true',
    'write.parquet.bloom-filter-enabled.column.name' = 'true', 'write.parquet.bloom-filter-max-bytes' = '1024',
    'write.parquet.compression-codec' = 'zstd');
insert into {table} select id * 2, concat('b', id), cast(concat('b', id) as binary), null from range(500, 800);
alter table {table} set tblproperties ('write.format.default' = 'avro', 'write.avro.compression-codec' = 'zstd');
insert into {table} select id, concat('n', id % 5), X'01', array(1) from range(2000, 2020);
alter table {table} set tblproperties ('write.avro.compression-codec' = 'snappy');
insert into {table} select id, concat('n', id % 5), X'01', array(1) from range(2020, 2040);
alter table {table} set tblproperties ('write.avro.compression-codec' = 'uncompressed',
    'write.manifest.compression-codec' = 'zstd');
insert into {table} select id, concat('n', id % 5), X'01', array(1) from range(2040, 2060);
alter table {table} set tblproperties ('write.avro.compression-codec' = 'gzip', 'write.manifest.compression-codec' = 'snappy');
insert into {table} select id, concat('n', id % 5), X'01', array(1) from range(2060, 2080);
alter table {table} set tblproperties ('write.manifest.compression-codec' = 'uncompressed');
delete from {table} where id % 11 = 0;
select id, name from {table} where id in (1003, 1100, 1102, 1598) order by id;
select id from {table} where name = 'b501';
select count(*) as n from {table} where id > 400 and id < 500;
select id from {table} where name = 'n3' and id > 2000 order by id;
