-- Many small files and manifests, put together in all ways there are.
create table {table} (id bigint not null, name string, at timestamp) using iceberg partitioned by (days(at))
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}',
    'commit.manifest.min-count-to-merge' = '3', 'write.delete.mode' = 'merge-on-read');

insert into {table} values (1, 'a', timestamp '2024-01-01 10:00:00'), (2, 'b', timestamp '2024-01-02 10:00:00');
insert into {table} values (3, 'c', timestamp '2024-01-01 11:00:00'), (4, null, null);
insert into {table} values (5, 'e', timestamp '2024-01-02 12:00:00'), (6, 'f', timestamp '2024-01-03 10:00:00');
insert into {table} values (7, 'g', timestamp '1969-12-31 23:59:59.5'), (8, 'h', timestamp '1970-01-01 00:00:00');
call locked.system.rewrite_manifests('{table}');
delete from {table} where id in (3, 6);
call locked.system.rewrite_data_files(table => '{table}', strategy => 'binpack', where => 'at >= "2024-01-01"',
    options => map('rewrite-all', 'true', 'partial-progress.enabled', 'true'));
insert into {table} values (9, 'i', timestamp '2024-01-01 12:00:00');
call locked.system.rewrite_data_files(table => '{table}', strategy => 'sort', sort_order => 'zorder(id, name)',
    options => map('rewrite-all', 'true', 'remove-dangling-deletes', 'true'));
call locked.system.rewrite_position_delete_files(table => '{table}', options => map('rewrite-all', 'true'));
call locked.system.rewrite_manifests(table => '{table}', use_caching => true);
call locked.system.compute_table_stats('{table}');
call locked.system.compute_partition_stats('{table}');
select id from {table} where at >= timestamp '2024-01-02 00:00:00' order by id;
select id from {table} where at is null;
