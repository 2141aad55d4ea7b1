-- What Spark does with a table that it did not make, of any schema with an id.
alter table {table} set tblproperties ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read',
    'write.merge.mode' = 'merge-on-read');
insert into {table} select * from {table};
delete from {table} where id % 4 = 1;
update {table} set id = id + 1000 where id % 8 = 2;
merge into {table} t using (select distinct id from {table} where id % 8 = 6) s on t.id = s.id
    when matched and t.id < 50 then delete
    when matched then update set id = t.id + 2000;
call locked.system.rewrite_position_delete_files(table => '{table}', options => map('rewrite-all', 'true'));
alter table {table} set tblproperties ('format-version' = '3');
delete from {table} where id % 8 = 3;
insert into {table} select * from {table} where id % 3 = 0;
update {table} set id = id + 5000 where id % 5 = 0;
call locked.system.rewrite_manifests('{table}');
call locked.system.rewrite_data_files(table => '{table}', options => map('delete-file-threshold', '1'));
call locked.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'));
