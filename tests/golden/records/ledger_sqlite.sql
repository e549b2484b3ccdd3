BEGIN TRANSACTION;
CREATE TABLE tocsin_adopted (
	digest TEXT NOT NULL, 
	ledger_id TEXT NOT NULL, 
	sequence BIGINT NOT NULL, 
	"query" TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT NOT NULL, 
	scope TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	epsilon_units BIGINT NOT NULL, 
	cells_per_unit BIGINT NOT NULL, 
	loss_units BIGINT NOT NULL, 
	periods TEXT NOT NULL, 
	alarm_count BIGINT NOT NULL, 
	adopted_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_adopted" VALUES('5e43e1c5672b721930a8d04dbbdae7ca','00000000000000000000000000000000',7,'d',0,20,'hand','decided',1,1,1,'[]',2,1767225600000);
INSERT INTO "tocsin_adopted" VALUES('241e940ca41483c8f68750bcd588419d','dc7ac396cafffc4086843e9498b780b1',1,'c',0,20,'hand','denied',0,1,0,'[]',0,1767225600000);
INSERT INTO "tocsin_adopted" VALUES('81ea23b616030dd3042d2b891e7c052c','dc7ac396cafffc4086843e9498b780b1',5,'a',40,60,'hand','decided',2,1,2,'[]',1,1767225600000);
CREATE TABLE tocsin_charges (
	"query" TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT NOT NULL, 
	scope TEXT NOT NULL, 
	admission TEXT NOT NULL, 
	state TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	units BIGINT NOT NULL, 
	cells BIGINT NOT NULL, 
	cells_per_unit BIGINT NOT NULL, 
	loss_units BIGINT NOT NULL, 
	settled_units BIGINT, 
	periods TEXT NOT NULL, settled_loss_units BIGINT, costs BLOB, in_run BOOLEAN DEFAULT 0 NOT NULL, held_units BIGINT, 
	PRIMARY KEY ("query", start_ms, end_ms), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query"), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_charges" VALUES('band',7200000,10800000,'user','reserved','settled','68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',250000000000,3,2,500000000000,250000000000,'[7200000]',500000000000,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('crowd',7200000,10800000,'user','reserved','settled','5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85',767528364332,3,2,1535056728664,767528364332,'[7200000]',1535056728664,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('levels',7200000,10800000,'user','reserved','settled','8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68',831889235479,3,2,1663778470958,831889235479,'[7200000]',1663778470958,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('run',7200000,10800000,'user','reserved','settled','119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',1341065375733,3,1,1341065375733,1341065375733,'[7200000]',1341065375733,NULL,1,1341065375733);
INSERT INTO "tocsin_charges" VALUES('band',10800000,14400000,'user','reserved','settled','68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',250000000000,3,2,500000000000,250000000000,'[7200000]',500000000000,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('crowd',10800000,14400000,'user','refused','released','5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85',767528364332,3,2,1535056728664,NULL,'[7200000]',NULL,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('levels',10800000,14400000,'user','refused','released','8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68',831889235479,3,2,1663778470958,NULL,'[7200000]',NULL,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('run',10800000,14400000,'user','refused','released','119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',1341065375733,3,1,1341065375733,NULL,'[7200000]',NULL,NULL,1,NULL);
INSERT INTO "tocsin_charges" VALUES('band',14400000,18000000,'user','reserved','settled','68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',250000000000,3,2,500000000000,250000000000,'[14400000]',500000000000,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('crowd',14400000,18000000,'user','reserved','settled','d365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7',767528364332,3,2,1535056728664,767528364332,'[14400000]',1535056728664,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('run',14400000,18000000,'user','reserved','settled','119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',1341065375733,3,1,1341065375733,1341065375733,'[14400000]',1341065375733,NULL,1,1341065375733);
INSERT INTO "tocsin_charges" VALUES('band',18000000,21600000,'user','reserved','settled','68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',250000000000,3,2,500000000000,250000000000,'[14400000]',500000000000,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('crowd',18000000,21600000,'user','reserved','settled','d365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7',767528364332,3,2,1535056728664,767528364332,'[14400000]',1535056728664,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('run',18000000,21600000,'user','refused','released','119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',1341065375733,3,1,1341065375733,NULL,'[14400000]',NULL,NULL,1,NULL);
INSERT INTO "tocsin_charges" VALUES('a',0,20,'hand','reserved','settled','f1',3,4,1,3,2,'[]',2,X'010104000000030000007801636080004628CD04A515260000011000B444F36DE9B4DBD4C074129792DC39E8D5',0,NULL);
INSERT INTO "tocsin_charges" VALUES('b',0,20,'hand','reserved','released','f1',4,4,1,4,NULL,'[]',NULL,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('c',0,20,'hand','refused','released','f1',9,4,1,9,NULL,'[]',NULL,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('a',20,40,'hand','reserved','spent','f1',5,4,1,5,NULL,'[]',NULL,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('b',20,40,'hand','too_old','released','f1',5,4,1,5,NULL,'[]',NULL,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('c',20,40,'hand','reserved','reserved','f1',5,4,1,5,NULL,'[]',NULL,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('a',40,60,'hand','reserved','released','f1',5,4,1,5,NULL,'[]',NULL,NULL,0,NULL);
INSERT INTO "tocsin_charges" VALUES('c',40,60,'hand','reserved','reserved','f1',6,4,1,6,NULL,'[]',NULL,NULL,0,NULL);
CREATE TABLE tocsin_compacted (
	scope TEXT NOT NULL, 
	period_ms BIGINT NOT NULL, 
	final_units BIGINT NOT NULL, 
	PRIMARY KEY (scope, period_ms), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_compacted" VALUES('user',0,6315318683807);
CREATE TABLE tocsin_decisions (
	"query" TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT NOT NULL, 
	sequence BIGINT NOT NULL, 
	outcome TEXT NOT NULL, 
	reason TEXT, 
	alarms BLOB NOT NULL, 
	alarm_count BIGINT NOT NULL, 
	epsilon_units BIGINT NOT NULL, 
	release_ms BIGINT NOT NULL, 
	decided_at_ms BIGINT NOT NULL, 
	published BOOLEAN NOT NULL, 
	fingerprint TEXT NOT NULL, archived BOOLEAN DEFAULT 0 NOT NULL, 
	PRIMARY KEY ("query", start_ms, end_ms), 
	UNIQUE ("query", sequence), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
INSERT INTO "tocsin_decisions" VALUES('band',0,3600000,1,'decided',NULL,X'',3,250000000000,3645000,1767225600000,1,'68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',1);
INSERT INTO "tocsin_decisions" VALUES('crowd',0,3600000,1,'decided',NULL,X'',0,767528364332,3645000,1767225600000,1,'5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85',1);
INSERT INTO "tocsin_decisions" VALUES('levels',0,3600000,1,'decided',NULL,X'',0,831889235479,3645000,1767225600000,1,'8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68',1);
INSERT INTO "tocsin_decisions" VALUES('run',0,3600000,1,'decided',NULL,X'',0,581426755521,3645000,1767225600000,1,'119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',1);
INSERT INTO "tocsin_decisions" VALUES('band',3600000,7200000,2,'decided',NULL,X'',2,250000000000,7245000,1767225600000,1,'68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',1);
INSERT INTO "tocsin_decisions" VALUES('crowd',3600000,7200000,2,'decided',NULL,X'',1,767528364332,7245000,1767225600000,1,'5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85',1);
INSERT INTO "tocsin_decisions" VALUES('levels',3600000,7200000,2,'denied','budget',X'',0,0,7245000,1767225600000,1,'8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68',1);
INSERT INTO "tocsin_decisions" VALUES('run',3600000,7200000,2,'denied','budget',X'',0,0,7245000,1767225600000,1,'119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',1);
INSERT INTO "tocsin_decisions" VALUES('band',7200000,10800000,3,'decided',NULL,X'5B7B22726F6F6D223A226C6162227D5D',1,250000000000,10845000,1767225600000,1,'68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',0);
INSERT INTO "tocsin_decisions" VALUES('crowd',7200000,10800000,3,'decided',NULL,X'5B7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',2,767528364332,10845000,1767225600000,1,'5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85',0);
INSERT INTO "tocsin_decisions" VALUES('levels',7200000,10800000,3,'decided',NULL,X'5B5D',0,831889235479,10845000,1767225600000,1,'8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68',0);
INSERT INTO "tocsin_decisions" VALUES('run',7200000,10800000,3,'decided',NULL,X'5B7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',2,1341065375733,10845000,1767225600000,1,'119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',0);
INSERT INTO "tocsin_decisions" VALUES('band',10800000,14400000,4,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',3,250000000000,14445000,1767225600000,1,'68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',0);
INSERT INTO "tocsin_decisions" VALUES('crowd',10800000,14400000,4,'denied','budget',X'',0,0,14445000,1767225600000,1,'5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85',0);
INSERT INTO "tocsin_decisions" VALUES('levels',10800000,14400000,4,'denied','budget',X'',0,0,14445000,1767225600000,1,'8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68',0);
INSERT INTO "tocsin_decisions" VALUES('run',10800000,14400000,4,'denied','budget',X'',0,0,14445000,1767225600000,1,'119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',0);
INSERT INTO "tocsin_decisions" VALUES('band',14400000,18000000,5,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',3,250000000000,18045000,1767225600000,1,'68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',0);
INSERT INTO "tocsin_decisions" VALUES('crowd',14400000,18000000,5,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D5D',2,767528364332,18045000,1767225600000,1,'d365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7',0);
INSERT INTO "tocsin_decisions" VALUES('run',14400000,18000000,5,'decided',NULL,X'7B226669726564223A5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D5D2C226C617465223A5B5D2C22756E616E737765726564223A317D',2,1341065375733,18045000,1767225600000,1,'119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',0);
INSERT INTO "tocsin_decisions" VALUES('band',18000000,21600000,6,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',3,250000000000,21645000,1767225600000,1,'68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f',0);
INSERT INTO "tocsin_decisions" VALUES('crowd',18000000,21600000,6,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A226C6162227D5D',2,767528364332,21645000,1767225600000,1,'d365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7',0);
INSERT INTO "tocsin_decisions" VALUES('run',18000000,21600000,6,'denied','budget',X'',0,0,21645000,1767225600000,1,'119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e',0);
INSERT INTO "tocsin_decisions" VALUES('a',0,20,1,'decided',NULL,X'5B5D',0,3,20,1767225600000,1,'f1',0);
INSERT INTO "tocsin_decisions" VALUES('b',0,20,1,'denied','incomplete',X'',0,0,20,1767225600000,0,'f1',0);
CREATE TABLE tocsin_gaps (
	"query" TEXT NOT NULL, 
	first_sequence BIGINT NOT NULL, 
	last_sequence BIGINT NOT NULL, 
	declared_at_ms BIGINT NOT NULL, 
	PRIMARY KEY ("query", first_sequence)
);
INSERT INTO "tocsin_gaps" VALUES('a',2,5,1767225600000);
INSERT INTO "tocsin_gaps" VALUES('c',1,1,1767225600000);
CREATE TABLE tocsin_ledger (
	id INTEGER NOT NULL, 
	ledger_id TEXT NOT NULL, 
	hash_key BLOB NOT NULL, 
	clock_ms BIGINT NOT NULL, 
	created_ms BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "tocsin_ledger" VALUES(1,'dc7ac396cafffc4086843e9498b780b1',X'C22154F5A172D7171941824FC45B2F7FEDBA538CDD8F13C72B9584F43BB70A55',1767225600000,1767225600000);
CREATE TABLE tocsin_links (
	scope TEXT NOT NULL, 
	link BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT NOT NULL, 
	told TEXT, 
	hash BLOB NOT NULL, 
	PRIMARY KEY (scope, link), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_links" VALUES('user',21,'ended','band',7200000,10800000,NULL,X'F0148EFC396CF646C8980D0CE5EDB5EB');
INSERT INTO "tocsin_links" VALUES('user',22,'served','crowd',7200000,10800000,NULL,X'53E96F8DA8FA4A1F4FFDEA3F3713AA72');
INSERT INTO "tocsin_links" VALUES('user',23,'ended','crowd',7200000,10800000,NULL,X'B378A96BFA56C9FC0B08D04190850126');
INSERT INTO "tocsin_links" VALUES('user',24,'served','levels',7200000,10800000,NULL,X'C321132C244A450F4CF6F131B87AA5C5');
INSERT INTO "tocsin_links" VALUES('user',25,'ended','levels',7200000,10800000,NULL,X'9823A1904272888F67712FE12172C6C5');
INSERT INTO "tocsin_links" VALUES('user',26,'served','run',7200000,10800000,NULL,X'36F72ADF9993B3556F3DB41FE67AFCDB');
INSERT INTO "tocsin_links" VALUES('user',27,'ended','run',7200000,10800000,NULL,X'CB6AD977AAC56E5AEA75151D5BD6791E');
INSERT INTO "tocsin_links" VALUES('user',28,'served','band',10800000,14400000,NULL,X'850E72194D865FD467244F90541C731E');
INSERT INTO "tocsin_links" VALUES('user',29,'ended','band',10800000,14400000,NULL,X'EEF9CBA4BDB8B7388D286AD5C07716D5');
INSERT INTO "tocsin_links" VALUES('user',30,'ended','crowd',10800000,14400000,NULL,X'B2345421194A1944299749DF3B37112C');
INSERT INTO "tocsin_links" VALUES('user',31,'ended','levels',10800000,14400000,NULL,X'A8E9604ACEDF56129E395DBC8BDF862A');
INSERT INTO "tocsin_links" VALUES('user',32,'ended','run',10800000,14400000,NULL,X'AF0B686585AF673AC134E823154CF800');
INSERT INTO "tocsin_links" VALUES('user',33,'state','',0,1,'{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"04d7719512c48378c2357173b50a76b5","base":[0,"a728387c15bca831b4c547e2e0f2e629"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}',X'CD5145484D6B8F982A957C5C64B81D3A');
INSERT INTO "tocsin_links" VALUES('user',34,'served','band',14400000,18000000,NULL,X'6F3238AE44897C308A1D2F2AF83D5374');
INSERT INTO "tocsin_links" VALUES('user',35,'ended','band',14400000,18000000,NULL,X'98147E7AA2FD9AAB3B83706900A5EC07');
INSERT INTO "tocsin_links" VALUES('user',36,'served','crowd',14400000,18000000,NULL,X'8A35E2868E0E7D590920ACF5A14B456A');
INSERT INTO "tocsin_links" VALUES('user',37,'ended','crowd',14400000,18000000,NULL,X'ACC18C2F51071BF804EB928E642DEA71');
INSERT INTO "tocsin_links" VALUES('user',38,'served','run',14400000,18000000,NULL,X'054D81319A35985DC31D73F30A9FB620');
INSERT INTO "tocsin_links" VALUES('user',39,'ended','run',14400000,18000000,NULL,X'FC4CDCA93B70ED683C5081BD807834BA');
INSERT INTO "tocsin_links" VALUES('user',40,'served','band',18000000,21600000,NULL,X'D8535AF3E88BB9B311FEE5C0A36E531F');
INSERT INTO "tocsin_links" VALUES('user',41,'ended','band',18000000,21600000,NULL,X'FCB8D93A8FF093ECED7F16F8A345B73D');
INSERT INTO "tocsin_links" VALUES('user',42,'served','crowd',18000000,21600000,NULL,X'3F4ED175DF80AB17FEAA983740F5E45E');
INSERT INTO "tocsin_links" VALUES('user',43,'ended','crowd',18000000,21600000,NULL,X'F02AF070884A9FFBC65576BEAFD9FC2C');
INSERT INTO "tocsin_links" VALUES('user',44,'ended','run',18000000,21600000,NULL,X'F14E9A3E7142327B72FB9D19E490C994');
INSERT INTO "tocsin_links" VALUES('user',45,'state','',0,1,'{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"04d7719512c48378c2357173b50a76b5","base":[20,"a132d17ec9ab806f88e89acadc5d99b9"],"compacted":[7200000,0],"left":"279a3e84308d65fe44e75766619e80a6","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}',X'FEB90F7A481459C8C2F156B06CF4B1C4');
INSERT INTO "tocsin_links" VALUES('hand',1,'state','',0,1,'{"terms":["event",10,""],"shapes":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}',X'A844C4A91B336E81FEF50059647BEC80');
INSERT INTO "tocsin_links" VALUES('hand',2,'state','',0,1,'{"terms":["event",10,""],"shapes":"d0e12c941be298b4658514715eb6ab84","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}',X'603061823F6691152C0A224A7098A54C');
INSERT INTO "tocsin_links" VALUES('hand',3,'state','',0,1,'{"terms":["event",10,""],"shapes":"38b4788d381876a3f645340c0ef967a3","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}',X'8AA7240D3F8A339BDDF5E0C03F794AC4');
INSERT INTO "tocsin_links" VALUES('hand',4,'state','',0,1,'{"terms":["event",10,""],"shapes":"6c2a4950517306d2001b2b7507a0de77","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d"}',X'9D2BA345BBF7A2C32E9300D3BD345EB0');
INSERT INTO "tocsin_links" VALUES('hand',5,'served','a',0,20,NULL,X'640507EE1363F674F251755CE651E3B0');
INSERT INTO "tocsin_links" VALUES('hand',6,'served','b',0,20,NULL,X'81776C81C6723C92CE3408DFF7AD34DA');
INSERT INTO "tocsin_links" VALUES('hand',7,'served','c',0,20,NULL,X'8DB1CC8F7F9C9B5DC7DF614C671CFD94');
INSERT INTO "tocsin_links" VALUES('hand',8,'ended','a',0,20,NULL,X'6BFACA324C11891224394EE0BCCF8EF4');
INSERT INTO "tocsin_links" VALUES('hand',9,'ended','c',0,20,NULL,X'D8895340971F2A1AF0051566E111BDBB');
INSERT INTO "tocsin_links" VALUES('hand',10,'ended','b',0,20,NULL,X'913B8D8899A0FE266E368DEAD371652E');
INSERT INTO "tocsin_links" VALUES('hand',11,'served','a',20,40,NULL,X'D9F64888847F09B7FDE26AC81A50A1AB');
INSERT INTO "tocsin_links" VALUES('hand',12,'ended','b',20,40,NULL,X'A775EE9A01C2DE2CB220C3D20BB6B8C5');
INSERT INTO "tocsin_links" VALUES('hand',13,'served','c',20,40,NULL,X'F2026CDDE25208D07D025222457E51C8');
INSERT INTO "tocsin_links" VALUES('hand',14,'served','a',40,60,NULL,X'435E1381D69CC8E84EC4DED07246E327');
INSERT INTO "tocsin_links" VALUES('hand',15,'served','c',40,60,NULL,X'0451DFCC60B12D8086407CB83E73372E');
INSERT INTO "tocsin_links" VALUES('hand',16,'adopted','d',0,20,'5e43e1c5672b721930a8d04dbbdae7ca',X'82F4A929F7058DE52B7BD1E3D0E965DD');
INSERT INTO "tocsin_links" VALUES('hand',17,'adopted','c',0,20,'241e940ca41483c8f68750bcd588419d',X'17ADB10448D0613C92D09D7C087A9056');
INSERT INTO "tocsin_links" VALUES('hand',18,'adopted','a',40,60,'81ea23b616030dd3042d2b891e7c052c',X'90AEC4EDD689582D157A566EAD10B120');
INSERT INTO "tocsin_links" VALUES('hand',19,'ended','a',40,60,NULL,X'C2BC9E790437921BA34E0E3263343FDD');
INSERT INTO "tocsin_links" VALUES('hand',20,'ended','a',20,40,NULL,X'682D8A2BEFC888700C7B7670C356ACD8');
CREATE TABLE tocsin_logs (
	feed TEXT NOT NULL, 
	cluster_id TEXT NOT NULL, 
	topic_id TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	partitions INTEGER NOT NULL, 
	PRIMARY KEY (feed)
);
INSERT INTO "tocsin_logs" VALUES('badges','replay','replay:badges','building.badges',1);
INSERT INTO "tocsin_logs" VALUES('feed','cluster','topic-1','topic',2);
CREATE TABLE tocsin_marks (
	feed TEXT NOT NULL, 
	partition INTEGER NOT NULL, 
	time_ms BIGINT NOT NULL, 
	log_offset BIGINT NOT NULL, 
	PRIMARY KEY (feed, partition, time_ms)
);
INSERT INTO "tocsin_marks" VALUES('feed',0,60000,17);
INSERT INTO "tocsin_marks" VALUES('feed',1,60000,21);
CREATE TABLE tocsin_partials (
	"query" TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT NOT NULL, 
	partition INTEGER NOT NULL, 
	fingerprint TEXT NOT NULL, 
	topic_id TEXT NOT NULL, 
	complete BOOLEAN NOT NULL, 
	cells BIGINT NOT NULL, 
	cell_index BLOB NOT NULL, 
	cell_value BLOB NOT NULL, 
	first_offset BIGINT NOT NULL, 
	last_offset BIGINT NOT NULL, 
	digest TEXT NOT NULL, 
	conflicted BOOLEAN NOT NULL, 
	PRIMARY KEY ("query", start_ms, end_ms, partition), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
INSERT INTO "tocsin_partials" VALUES('b',20,40,0,'f1','topic-1',1,4,X'00000000000000000100000000000000',X'03000000000000000100000000000000',7,9,'488538cb88f2ea33275bdb7832c35411',0);
INSERT INTO "tocsin_partials" VALUES('b',20,40,1,'f1','topic-1',1,4,X'00000000000000000100000000000000',X'02000000000000000000000000000000',7,9,'df67bf43bd65003fea02d6c49743d4b6',1);
CREATE TABLE tocsin_queries (
	"query" TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	feed TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	cursor_ms BIGINT NOT NULL, 
	effective_from_ms BIGINT, 
	retired BOOLEAN NOT NULL, 
	PRIMARY KEY ("query"), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_queries" VALUES('crowd','user','badges','d365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7','{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"apportion":"optimal","first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"refine":"gradual","tolerances":[5]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"7cc0d5de4f06307066a92e8207a68c16051cae350ab89b785dc25c196cabc0ec","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"tslm","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"crowd","schema":2,"where":null}',21600000,14400000,0);
INSERT INTO "tocsin_queries" VALUES('levels','user','badges','8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68','{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"apportion":"optimal","first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"refine":"gradual","tolerances":[6]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"b7603fffa56c1ac3ddbdb145e56d3f8c2e18886f20b15c5379ea8252ae553855","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"ppwlm","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"levels","schema":2,"where":null}',14400000,NULL,1);
INSERT INTO "tocsin_queries" VALUES('run','user','badges','119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e','{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"alarms":2,"apportion":"optimal","first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"monotone":true,"put_back":false,"questions":1,"refine":"gradual","terms":[581426755521,379819310106,-3],"tolerances":[9]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"b4e6b12b60deb6ad475dea1e5879362ca5c31e3db11d2bea18f30e1ce9807682","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"svt","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"run","schema":2,"where":null}',21600000,NULL,0);
INSERT INTO "tocsin_queries" VALUES('band','user','badges','68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f','{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"apportion":"optimal","first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"refine":"gradual","tolerances":[0,0]},"band":{"decider":"tight","epsilon":"1/4","references":"32c896187dc58b4f747f166ef11e6344c1f3088b3db41c51ab44dfb34474a1d5","tau":20},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"e517b919371baf18e51b2786ba35ab9178036f58bdde73d777f0e7c4b3dc4919","statistic":0},{"atom":"a2","sha256":"2ae882bdd85d121dee1dadd7030c39714f4bf70205da5ddb73615f88d45776f3","statistic":0}],"cells":3,"formula":"a1 OR NOT a2","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"decider","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"band","schema":2,"where":null}',21600000,NULL,0);
INSERT INTO "tocsin_queries" VALUES('a','hand','feed','f1','{}',60,NULL,0);
INSERT INTO "tocsin_queries" VALUES('b','hand','feed','f1','{}',20,NULL,0);
INSERT INTO "tocsin_queries" VALUES('c','hand','feed','f1','{}',20,NULL,0);
CREATE TABLE tocsin_runs (
	"query" TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	periods TEXT NOT NULL, 
	open_units BIGINT NOT NULL, 
	alarm_units BIGINT NOT NULL, 
	"left" BIGINT NOT NULL, 
	alarms_rung BIGINT NOT NULL, 
	opened_start_ms BIGINT NOT NULL, 
	last_start_ms BIGINT NOT NULL, 
	state BLOB NOT NULL, 
	PRIMARY KEY ("query"), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
INSERT INTO "tocsin_runs" VALUES('run','119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e','[14400000]',581426755521,379819310106,0,2,14400000,14400000,X'9601000002CF000000875FBC37C1C400');
CREATE TABLE tocsin_scopes (
	scope TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	epsilon_max_units BIGINT NOT NULL, 
	period TEXT NOT NULL, 
	frontier_end_ms BIGINT, 
	frontier_query TEXT, 
	frontier_start_ms BIGINT, 
	settled_worst_units BIGINT NOT NULL, chain_link BIGINT DEFAULT 0 NOT NULL, chain_hash BLOB DEFAULT '' NOT NULL, base_link BIGINT DEFAULT 0 NOT NULL, base_hash BLOB DEFAULT '' NOT NULL, compacted_before_ms BIGINT, compacted_worst_units BIGINT DEFAULT 0 NOT NULL, 
	PRIMARY KEY (scope)
);
INSERT INTO "tocsin_scopes" VALUES('user','user',6500000000000,'tumbling windows of 2 hours',21600000,'run',18000000,0,45,X'FEB90F7A481459C8C2F156B06CF4B1C4',20,X'A132D17EC9AB806F88E89ACADC5D99B9',7200000,0);
INSERT INTO "tocsin_scopes" VALUES('hand','event',10,'',60,'c',40,5,20,X'682D8A2BEFC888700C7B7670C356ACD8',0,X'9485A8F4309CC5FD4ABA5D413500B005',NULL,0);
CREATE TABLE tocsin_sequences (
	"query" TEXT NOT NULL, 
	last_sequence BIGINT NOT NULL, 
	PRIMARY KEY ("query")
);
INSERT INTO "tocsin_sequences" VALUES('band',6);
INSERT INTO "tocsin_sequences" VALUES('crowd',6);
INSERT INTO "tocsin_sequences" VALUES('levels',4);
INSERT INTO "tocsin_sequences" VALUES('run',6);
INSERT INTO "tocsin_sequences" VALUES('a',5);
INSERT INTO "tocsin_sequences" VALUES('b',1);
INSERT INTO "tocsin_sequences" VALUES('c',1);
CREATE TABLE tocsin_shapes (
	"query" TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	region TEXT NOT NULL, 
	grouping TEXT NOT NULL, 
	PRIMARY KEY ("query", fingerprint), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
INSERT INTO "tocsin_shapes" VALUES('crowd','5aa66fd4a41ab2fb2c6af5bd2d6dc571dab6e10dedfc1dd0b9d543247a8cdc85','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO "tocsin_shapes" VALUES('levels','8720ff661fa0442d7eacec0b08381a599b5a063f5611ab69e670931af11f2b68','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO "tocsin_shapes" VALUES('run','119da6eb3f9a4ad754b87ada3c519c77a45cd2a0cc5058ac98f9efb47098817e','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO "tocsin_shapes" VALUES('band','68fef6fc677e04e3782b87a3bf5e14ca086fc0edea2aa3245675e640478de68f','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO "tocsin_shapes" VALUES('crowd','d365cdf7b5457ce86e7533e853b1683c0bd26ed0aef0c3f2d4ec2ef6ccb4e9a7','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','02e05a4e04447a91592b4c5e30ceb78b');
INSERT INTO "tocsin_shapes" VALUES('a','f1','{}','by a');
INSERT INTO "tocsin_shapes" VALUES('b','f1','{}','by b');
INSERT INTO "tocsin_shapes" VALUES('c','f1','{}','by c');
CREATE TABLE tocsin_totals (
	scope TEXT NOT NULL, 
	period_ms BIGINT NOT NULL, 
	held_units BIGINT NOT NULL, final_units BIGINT DEFAULT 0 NOT NULL, 
	PRIMARY KEY (scope, period_ms), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_totals" VALUES('user',0,6315318683807,6315318683807);
INSERT INTO "tocsin_totals" VALUES('user',7200000,5539900575355,5539900575355);
INSERT INTO "tocsin_totals" VALUES('user',14400000,5411178833061,5411178833061);
CREATE TABLE tocsin_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT tocsin_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "tocsin_version" VALUES('0003');
CREATE INDEX tocsin_charges_by_end ON tocsin_charges (scope, end_ms);
CREATE INDEX tocsin_charges_open ON tocsin_charges (scope) WHERE state = 'reserved';
CREATE INDEX tocsin_decisions_outbox ON tocsin_decisions ("query", sequence) WHERE NOT published;
CREATE INDEX tocsin_adopted_by_end ON tocsin_adopted (scope, end_ms);
CREATE INDEX tocsin_adopted_by_window ON tocsin_adopted ("query", start_ms);
CREATE INDEX tocsin_charges_pending ON tocsin_charges (scope) WHERE state = 'pending';
CREATE INDEX tocsin_links_by_window ON tocsin_links ("query", start_ms, end_ms);
CREATE INDEX tocsin_links_told ON tocsin_links (scope, link) WHERE told IS NOT NULL;
COMMIT;
