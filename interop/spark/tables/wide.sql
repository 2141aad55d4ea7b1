-- Manifests of several encrypted blocks.
create table {table} (id bigint not null, part int, text string) using iceberg partitioned by (part)
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.metadata.metrics.default' = 'full',
    'write.manifest.compression-codec' = 'uncompressed', 'write.delete.mode' = 'merge-on-read');

insert into {table} select id, id % 12, concat(id, repeat('abcdefgh', 15000)) from range(0, 24);
delete from {table} where id in (5, 17);
select id, length(text) as n from {table} where part = 5 or text > '8' order by id;
