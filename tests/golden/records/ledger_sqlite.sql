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
	draw TEXT, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_adopted" VALUES('5e43e1c5672b721930a8d04dbbdae7ca','00000000000000000000000000000000',7,'d',0,20,'hand','decided',1,1,1,'[]',2,1767225600000,NULL);
INSERT INTO "tocsin_adopted" VALUES('241e940ca41483c8f68750bcd588419d','dc7ac396cafffc4086843e9498b780b1',1,'c',0,20,'hand','denied',0,1,0,'[]',0,1767225600000,NULL);
INSERT INTO "tocsin_adopted" VALUES('81ea23b616030dd3042d2b891e7c052c','dc7ac396cafffc4086843e9498b780b1',5,'a',40,60,'hand','decided',2,1,2,'[]',1,1767225600000,NULL);
CREATE TABLE tocsin_archives (
	"query" TEXT NOT NULL, 
	first_sequence BIGINT NOT NULL, 
	last_sequence BIGINT NOT NULL, 
	file TEXT NOT NULL, 
	hash BLOB NOT NULL, 
	seen BLOB NOT NULL, 
	tallies TEXT NOT NULL, 
	digest BLOB NOT NULL, 
	PRIMARY KEY ("query", first_sequence), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
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
	settled_loss_units BIGINT, 
	costs BLOB, 
	periods TEXT NOT NULL, 
	in_run BOOLEAN NOT NULL, 
	held_units BIGINT, 
	windows_per_period BIGINT, 
	PRIMARY KEY ("query", start_ms, end_ms), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query"), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_charges" VALUES('band',7200000,10800000,'user','reserved','settled','34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',250000000000,3,2,500000000000,250000000000,500000000000,NULL,'[7200000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('crowd',7200000,10800000,'user','reserved','settled','3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8',767528364332,3,2,1535056728664,767528364332,1535056728664,NULL,'[7200000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('levels',7200000,10800000,'user','reserved','settled','7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04',831889235479,3,2,1663778470958,831889235479,1663778470958,X'010003000000020000008096980000000000175E76B0C1000000A01E0BA973B77C1D5B348A133AF4562B2C','[7200000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('run',7200000,10800000,'user','reserved','settled','d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',1341065375733,3,1,1341065375733,1341065375733,1341065375733,NULL,'[7200000]',1,1341065375733,NULL);
INSERT INTO "tocsin_charges" VALUES('band',10800000,14400000,'user','reserved','settled','34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',250000000000,3,2,500000000000,250000000000,500000000000,NULL,'[7200000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('crowd',10800000,14400000,'user','refused','released','3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8',767528364332,3,2,1535056728664,NULL,NULL,NULL,'[7200000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('levels',10800000,14400000,'user','refused','released','7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04',831889235479,3,2,1663778470958,NULL,NULL,NULL,'[7200000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('run',10800000,14400000,'user','refused','released','d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',1341065375733,3,1,1341065375733,NULL,NULL,NULL,'[7200000]',1,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('band',14400000,18000000,'user','reserved','settled','34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',250000000000,3,2,500000000000,250000000000,500000000000,NULL,'[14400000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('crowd',14400000,18000000,'user','reserved','settled','0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121',767528364332,3,2,1535056728664,767528364332,1535056728664,NULL,'[14400000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('run',14400000,18000000,'user','reserved','settled','d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',1341065375733,3,1,1341065375733,1341065375733,1341065375733,NULL,'[14400000]',1,1341065375733,NULL);
INSERT INTO "tocsin_charges" VALUES('band',18000000,21600000,'user','reserved','settled','34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',250000000000,3,2,500000000000,250000000000,500000000000,NULL,'[14400000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('crowd',18000000,21600000,'user','reserved','settled','0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121',767528364332,3,2,1535056728664,767528364332,1535056728664,NULL,'[14400000]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('run',18000000,21600000,'user','refused','released','d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',1341065375733,3,1,1341065375733,NULL,NULL,NULL,'[14400000]',1,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('a',0,20,'hand','reserved','settled','f1',3,4,1,3,2,2,X'010104000000030000007801636080004628CD04A515260000011000B444F36DE9B4DBD4C074129792DC39E8D5','[]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('b',0,20,'hand','reserved','released','f1',4,4,1,4,NULL,NULL,NULL,'[]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('c',0,20,'hand','refused','released','f1',9,4,1,9,NULL,NULL,NULL,'[]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('a',20,40,'hand','reserved','spent','f1',5,4,1,5,NULL,NULL,NULL,'[]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('b',20,40,'hand','too_old','released','f1',5,4,1,5,NULL,NULL,NULL,'[]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('c',20,40,'hand','reserved','reserved','f1',5,4,1,5,NULL,NULL,NULL,'[]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('a',40,60,'hand','reserved','released','f1',5,4,1,5,NULL,NULL,NULL,'[]',0,NULL,NULL);
INSERT INTO "tocsin_charges" VALUES('c',40,60,'hand','reserved','reserved','f1',6,4,1,6,NULL,NULL,NULL,'[]',0,NULL,NULL);
CREATE TABLE tocsin_compacted (
	scope TEXT NOT NULL, 
	period_ms BIGINT NOT NULL, 
	final_units BIGINT NOT NULL, 
	PRIMARY KEY (scope, period_ms), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_compacted" VALUES('user',0,5539900575355);
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
	fingerprint TEXT NOT NULL, 
	archived BOOLEAN NOT NULL, 
	next_start_ms BIGINT, 
	run_digest BLOB, 
	alarms_digest BLOB, 
	hash BLOB NOT NULL, 
	PRIMARY KEY ("query", start_ms, end_ms), 
	UNIQUE ("query", sequence), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
INSERT INTO "tocsin_decisions" VALUES('band',0,3600000,1,'decided',NULL,X'',3,250000000000,3645000,1767225600000,1,'34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',1,3600000,NULL,X'2BE68D4A550E66D63DBE9D8B9AEDDEF6',X'62526AEB850CB3D5AE597057CDA6CB3C');
INSERT INTO "tocsin_decisions" VALUES('crowd',0,3600000,1,'decided',NULL,X'',0,767528364332,3645000,1767225600000,1,'3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8',1,3600000,NULL,X'7EBB3C7C2A87B1A2F8A7ED729ECB040D',X'1383667AEC4A2E93F7411DF23CE19B7F');
INSERT INTO "tocsin_decisions" VALUES('levels',0,3600000,1,'decided',NULL,X'',0,831889235479,3645000,1767225600000,1,'7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04',1,3600000,NULL,X'7EBB3C7C2A87B1A2F8A7ED729ECB040D',X'FBEF466E036CF1B60072D4E41FD4C234');
INSERT INTO "tocsin_decisions" VALUES('run',0,3600000,1,'decided',NULL,X'',0,581426755521,3645000,1767225600000,1,'d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',1,3600000,X'630C04388D67A87630C6FCBC258D4372',X'7EBB3C7C2A87B1A2F8A7ED729ECB040D',X'DFF92B9E5966A41B2AAE1EB9CA86BA02');
INSERT INTO "tocsin_decisions" VALUES('band',3600000,7200000,2,'decided',NULL,X'',2,250000000000,7245000,1767225600000,1,'34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',1,7200000,NULL,X'F92E7040C43505E3D8587F1AA3E9074D',X'1A2FF3A8541D9C27EC80F0C744897984');
INSERT INTO "tocsin_decisions" VALUES('crowd',3600000,7200000,2,'denied','budget',X'',0,0,7245000,1767225600000,1,'3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8',1,7200000,NULL,X'CAE66941D9EFBD404E4D88758EA67670',X'12AA2651CC33071A0915AA78B1B5145D');
INSERT INTO "tocsin_decisions" VALUES('levels',3600000,7200000,2,'denied','budget',X'',0,0,7245000,1767225600000,1,'7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04',1,7200000,NULL,X'CAE66941D9EFBD404E4D88758EA67670',X'9E5DAD782292A9ECECA5B011B9806D17');
INSERT INTO "tocsin_decisions" VALUES('run',3600000,7200000,2,'decided',NULL,X'',2,759638620212,7245000,1767225600000,1,'d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',1,7200000,X'204A11C6502AF6B1AC88244F898EA428',X'F92E7040C43505E3D8587F1AA3E9074D',X'08F69058C536D5F3CC9F111BBC335B48');
INSERT INTO "tocsin_decisions" VALUES('band',7200000,10800000,3,'decided',NULL,X'5B7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',2,250000000000,10845000,1767225600000,1,'34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',0,10800000,NULL,NULL,X'00B7ADD4A985EA1BF26401372B95A221');
INSERT INTO "tocsin_decisions" VALUES('crowd',7200000,10800000,3,'decided',NULL,X'5B7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',2,767528364332,10845000,1767225600000,1,'3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8',0,10800000,NULL,NULL,X'4FA452BE0DFF3DB4E2BCC75FF63B52D0');
INSERT INTO "tocsin_decisions" VALUES('levels',7200000,10800000,3,'decided',NULL,X'5B7B22726F6F6D223A2268616C6C227D5D',1,831889235479,10845000,1767225600000,1,'7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04',0,10800000,NULL,NULL,X'B8C8070BAB4AB636A320C744C091A137');
INSERT INTO "tocsin_decisions" VALUES('run',7200000,10800000,3,'decided',NULL,X'5B7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',2,1341065375733,10845000,1767225600000,1,'d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',0,10800000,X'AD92B29DB4AC9444943A4E19896F9647',NULL,X'2DCAF42EA09F4D680E3D5EFA8C83487C');
INSERT INTO "tocsin_decisions" VALUES('band',10800000,14400000,4,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',3,250000000000,14445000,1767225600000,1,'34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',0,14400000,NULL,NULL,X'08A696D5DBF2160B6D39C2E5F278A324');
INSERT INTO "tocsin_decisions" VALUES('crowd',10800000,14400000,4,'denied','budget',X'',0,0,14445000,1767225600000,1,'3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8',0,14400000,NULL,NULL,X'947D2305FBBB259D68A4EAFC0A5EFB8B');
INSERT INTO "tocsin_decisions" VALUES('levels',10800000,14400000,4,'denied','budget',X'',0,0,14445000,1767225600000,1,'7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04',0,14400000,NULL,NULL,X'2C7A1AC616F6BD2CC6E3236794BAB5CA');
INSERT INTO "tocsin_decisions" VALUES('run',10800000,14400000,4,'denied','budget',X'',0,0,14445000,1767225600000,1,'d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',0,14400000,NULL,NULL,X'8EFF35759F2139B7D9E744829D3AD649');
INSERT INTO "tocsin_decisions" VALUES('band',14400000,18000000,5,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',3,250000000000,18045000,1767225600000,1,'34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',0,18000000,NULL,NULL,X'AE1036C0510A6D238452D39DC7AF07C5');
INSERT INTO "tocsin_decisions" VALUES('crowd',14400000,18000000,5,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D5D',2,767528364332,18045000,1767225600000,1,'0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121',0,18000000,NULL,NULL,X'6709C9835A8EB0EED1AB7159A34F16ED');
INSERT INTO "tocsin_decisions" VALUES('run',14400000,18000000,5,'decided',NULL,X'7B226669726564223A5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D5D2C226C617465223A5B5D2C22756E616E737765726564223A317D',2,1341065375733,18045000,1767225600000,1,'d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',0,18000000,X'D060B6CE72D8076BBE40255C939D77F0',NULL,X'29FC4B43A6381941811010C21A616BDE');
INSERT INTO "tocsin_decisions" VALUES('band',18000000,21600000,6,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A2268616C6C227D2C7B22726F6F6D223A226C6162227D5D',3,250000000000,21645000,1767225600000,1,'34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500',0,21600000,NULL,NULL,X'535B55AA4F6B41ED91487F92BBDEB60E');
INSERT INTO "tocsin_decisions" VALUES('crowd',18000000,21600000,6,'decided',NULL,X'5B7B22726F6F6D223A226174746963227D2C7B22726F6F6D223A226C6162227D5D',2,767528364332,21645000,1767225600000,1,'0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121',0,21600000,NULL,NULL,X'C5617F2C0E42DE4AA9BCB8FC1A1E0C9A');
INSERT INTO "tocsin_decisions" VALUES('run',18000000,21600000,6,'denied','budget',X'',0,0,21645000,1767225600000,1,'d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf',0,21600000,NULL,NULL,X'860F4E6E62DB6D7171B717005298EFDF');
INSERT INTO "tocsin_decisions" VALUES('a',0,20,1,'decided',NULL,X'5B5D',0,3,20,1767225600000,1,'f1',0,20,NULL,NULL,X'9DA27D36A9F535C981DBCA338ADECFA1');
INSERT INTO "tocsin_decisions" VALUES('b',0,20,1,'denied','incomplete',X'',0,0,20,1767225600000,0,'f1',0,20,NULL,NULL,X'BB4CF1E66B5BEFB1BB4FA1839A32F8A3');
CREATE TABLE tocsin_drawn (
	"query" TEXT NOT NULL, 
	period_ms BIGINT NOT NULL, 
	held_units BIGINT NOT NULL, 
	final_units BIGINT NOT NULL, 
	PRIMARY KEY ("query", period_ms), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
CREATE TABLE tocsin_files (
	feed TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	first_ms BIGINT NOT NULL, 
	PRIMARY KEY (feed, digest)
);
INSERT INTO "tocsin_files" VALUES('badges','36e7b3adc6ffe1813bbdff113754c2b1fa75790d00074ec6627a149dc0f05efc',1767225600000);
CREATE TABLE tocsin_gaps (
	"query" TEXT NOT NULL, 
	first_sequence BIGINT NOT NULL, 
	last_sequence BIGINT NOT NULL, 
	declared_at_ms BIGINT NOT NULL, 
	PRIMARY KEY ("query", first_sequence)
);
INSERT INTO "tocsin_gaps" VALUES('a',2,5,1767225600000);
INSERT INTO "tocsin_gaps" VALUES('c',1,1,1767225600000);
CREATE TABLE tocsin_growths (
	feed TEXT NOT NULL, 
	partitions INTEGER NOT NULL, 
	"before" INTEGER NOT NULL, 
	from_ms BIGINT NOT NULL, 
	until_ms BIGINT, 
	announced_ms BIGINT NOT NULL, 
	PRIMARY KEY (feed, partitions), 
	FOREIGN KEY(feed) REFERENCES tocsin_logs (feed)
);
CREATE TABLE tocsin_journal (
	entry TEXT NOT NULL, 
	times BIGINT NOT NULL, 
	last_ms BIGINT NOT NULL, 
	PRIMARY KEY (entry)
);
CREATE TABLE tocsin_ledger (
	id INTEGER NOT NULL, 
	ledger_id TEXT NOT NULL, 
	hash_key BLOB NOT NULL, 
	clock_ms BIGINT NOT NULL, 
	created_ms BIGINT NOT NULL, 
	schema_version TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "tocsin_ledger" VALUES(1,'dc7ac396cafffc4086843e9498b780b1',X'C22154F5A172D7171941824FC45B2F7FEDBA538CDD8F13C72B9584F43BB70A55',1767225600000,1767225600000,'1');
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
INSERT INTO "tocsin_links" VALUES('user',23,'ended','band',7200000,10800000,NULL,X'D55976507A9A2BEE1CD2AA47D9A5D5FD');
INSERT INTO "tocsin_links" VALUES('user',24,'served','crowd',7200000,10800000,NULL,X'F346920D3EB98D09BA6C95321C29BE5D');
INSERT INTO "tocsin_links" VALUES('user',25,'ended','crowd',7200000,10800000,NULL,X'F04E3C64FA248C7B8872223B3A155742');
INSERT INTO "tocsin_links" VALUES('user',26,'served','levels',7200000,10800000,NULL,X'E69E05EA2350D00B7FF4BDA7337145DE');
INSERT INTO "tocsin_links" VALUES('user',27,'ended','levels',7200000,10800000,NULL,X'F7BC40396B4D6B78D20401744CFC8977');
INSERT INTO "tocsin_links" VALUES('user',28,'served','run',7200000,10800000,NULL,X'6646A76518DA6D13D2A9B9A96DB88E4C');
INSERT INTO "tocsin_links" VALUES('user',29,'ended','run',7200000,10800000,NULL,X'3B51E96A46333839E087815C34B6557B');
INSERT INTO "tocsin_links" VALUES('user',30,'served','band',10800000,14400000,NULL,X'5C17CF2C07FC233E2B3E54E6C70477E1');
INSERT INTO "tocsin_links" VALUES('user',31,'ended','band',10800000,14400000,NULL,X'8A75A45151DDBA3A40155A09FDF4A370');
INSERT INTO "tocsin_links" VALUES('user',32,'ended','crowd',10800000,14400000,NULL,X'5CF87A66DD52CBFD9B83407826548C70');
INSERT INTO "tocsin_links" VALUES('user',33,'decided','crowd',10800000,14400000,NULL,X'9F4C6BCA013CCE065D0601B6C993C192');
INSERT INTO "tocsin_links" VALUES('user',34,'ended','levels',10800000,14400000,NULL,X'98960ED398AF37E867539D428EADBF2E');
INSERT INTO "tocsin_links" VALUES('user',35,'decided','levels',10800000,14400000,NULL,X'B7ECD6EF7EF061D7B47A17092BF43688');
INSERT INTO "tocsin_links" VALUES('user',36,'ended','run',10800000,14400000,NULL,X'7F988F474AB4D3898064F9C7EFF615A5');
INSERT INTO "tocsin_links" VALUES('user',37,'decided','run',10800000,14400000,NULL,X'85FBD8C7C48094AAE9FFD21EA2AE48C6');
INSERT INTO "tocsin_links" VALUES('user',38,'state','',0,1,'{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"8ece5ea7bf01ecde7cab0b5191f773b6","base":[0,"a728387c15bca831b4c547e2e0f2e629"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"8a587438235838025602c6b102da4ae5","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"5537334c060bda656927c108ace5b775"}',X'29AF6D1520C51C6253CEFA71ED504C82');
INSERT INTO "tocsin_links" VALUES('user',39,'state','',0,1,'{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"ed44a948def309c8d567127c17f77a82","base":[0,"a728387c15bca831b4c547e2e0f2e629"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"5546df9a9250413455ee3ff24baedee1","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"5537334c060bda656927c108ace5b775"}',X'DBFDC339EB1C132E8318BF48E72DF183');
INSERT INTO "tocsin_links" VALUES('user',40,'served','band',14400000,18000000,NULL,X'A9111CC59BF0FF5878F179C92E79C256');
INSERT INTO "tocsin_links" VALUES('user',41,'ended','band',14400000,18000000,NULL,X'F450E674CE687A5027FD67F9AEDB5698');
INSERT INTO "tocsin_links" VALUES('user',42,'served','crowd',14400000,18000000,NULL,X'A427D752A765200ABB0DCD715D5ECAEC');
INSERT INTO "tocsin_links" VALUES('user',43,'ended','crowd',14400000,18000000,NULL,X'21EFA163436A2C650881054DB110DF3E');
INSERT INTO "tocsin_links" VALUES('user',44,'served','run',14400000,18000000,NULL,X'CC95916F6BD3AFABCEDDBA4F853D05B0');
INSERT INTO "tocsin_links" VALUES('user',45,'ended','run',14400000,18000000,NULL,X'756420B804160CA2E80845717D8CCF78');
INSERT INTO "tocsin_links" VALUES('user',46,'served','band',18000000,21600000,NULL,X'E0AC59CC14BDB8C6019E713EE80E3CE6');
INSERT INTO "tocsin_links" VALUES('user',47,'ended','band',18000000,21600000,NULL,X'D17261885C6F6EFBAF11CEFFEB3D4CF7');
INSERT INTO "tocsin_links" VALUES('user',48,'served','crowd',18000000,21600000,NULL,X'8E98794925B9D615C181D723B0C82692');
INSERT INTO "tocsin_links" VALUES('user',49,'ended','crowd',18000000,21600000,NULL,X'E9C2C539516541B6C7FBE3E779526333');
INSERT INTO "tocsin_links" VALUES('user',50,'ended','run',18000000,21600000,NULL,X'B07C4224592096696E52234D2B3747FF');
INSERT INTO "tocsin_links" VALUES('user',51,'decided','run',18000000,21600000,NULL,X'5FDFFC9549C21F314E5F245AA554B7D6');
INSERT INTO "tocsin_links" VALUES('user',52,'state','',0,1,'{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"ed44a948def309c8d567127c17f77a82","base":[22,"f9abd799d0596093fb9b7544176c6781"],"compacted":[7200000,0],"left":"1f46742b3aa170810d5876d309fab0bb","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"5546df9a9250413455ee3ff24baedee1","decided":"f7e990c23f75af04728fd5b24da1ecf8","pins":"5537334c060bda656927c108ace5b775"}',X'60CA623C3E43D337D5275FC372D4DD72');
INSERT INTO "tocsin_links" VALUES('hand',1,'state','',0,1,'{"terms":["event",10,""],"shapes":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":""}',X'65857C3EAE20739024732D19E741CDB7');
INSERT INTO "tocsin_links" VALUES('user',53,'state','',0,1,'{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"ed44a948def309c8d567127c17f77a82","base":[22,"f9abd799d0596093fb9b7544176c6781"],"compacted":[7200000,0],"left":"1f46742b3aa170810d5876d309fab0bb","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"5546df9a9250413455ee3ff24baedee1","decided":"f7e990c23f75af04728fd5b24da1ecf8","pins":"6086a8494df39397b46aec3c1db82472"}',X'D70072D2FBF60111AD6D6FF86EBECB00');
INSERT INTO "tocsin_links" VALUES('hand',2,'state','',0,1,'{"terms":["event",10,""],"shapes":"d0e12c941be298b4658514715eb6ab84","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"b25946c7afbb0fc0b35ba532b1f5e5d9","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"6086a8494df39397b46aec3c1db82472"}',X'2E095D0AED8C9A8576A710F9388266AC');
INSERT INTO "tocsin_links" VALUES('hand',3,'state','',0,1,'{"terms":["event",10,""],"shapes":"38b4788d381876a3f645340c0ef967a3","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"123fc0d0f48b83fb5467dac47d1a2e57","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"6086a8494df39397b46aec3c1db82472"}',X'B14BF1D1319ADB421E9E28133EB31535');
INSERT INTO "tocsin_links" VALUES('hand',4,'state','',0,1,'{"terms":["event",10,""],"shapes":"6c2a4950517306d2001b2b7507a0de77","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"950552af6c758c654e80a774d72a87ad","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"6086a8494df39397b46aec3c1db82472"}',X'73C6E7637604F8607299963BC0491072');
INSERT INTO "tocsin_links" VALUES('hand',5,'served','a',0,20,NULL,X'1E2960C910034F602B15C02B427DCCE2');
INSERT INTO "tocsin_links" VALUES('hand',6,'served','b',0,20,NULL,X'3B42C4D3C72BA61506C330C1A515A0DC');
INSERT INTO "tocsin_links" VALUES('hand',7,'served','c',0,20,NULL,X'9DA6DAAE4B79EE1565E0AA2C93C6AEC0');
INSERT INTO "tocsin_links" VALUES('hand',8,'ended','a',0,20,NULL,X'9361A56EEEE237FB5A5A384C78A240B5');
INSERT INTO "tocsin_links" VALUES('hand',9,'ended','c',0,20,NULL,X'CB168C9CD7D280944125DCC00DAAC1C5');
INSERT INTO "tocsin_links" VALUES('hand',10,'ended','b',0,20,NULL,X'512E691B6F1AE27ABAB83F9E7551E778');
INSERT INTO "tocsin_links" VALUES('hand',11,'served','a',20,40,NULL,X'19EC8254851AF942FFA6816C9973AA5E');
INSERT INTO "tocsin_links" VALUES('hand',12,'ended','b',20,40,NULL,X'B79BC379217776178E11CD25110CE7E9');
INSERT INTO "tocsin_links" VALUES('hand',13,'served','c',20,40,NULL,X'295F0FD1CF4E6798F9D44B2474C9A2B9');
INSERT INTO "tocsin_links" VALUES('hand',14,'served','a',40,60,NULL,X'53D24DDECF913986EB1C969044C2C092');
INSERT INTO "tocsin_links" VALUES('hand',15,'served','c',40,60,NULL,X'EBB0050C486174385C351509E4F57D7A');
INSERT INTO "tocsin_links" VALUES('hand',16,'adopted','d',0,20,'5e43e1c5672b721930a8d04dbbdae7ca',X'CF5C82224A925A889FD3B993E814F4C8');
INSERT INTO "tocsin_links" VALUES('hand',17,'adopted','c',0,20,'241e940ca41483c8f68750bcd588419d',X'D012827A8530CF41553E7019564652F9');
INSERT INTO "tocsin_links" VALUES('hand',18,'adopted','a',40,60,'81ea23b616030dd3042d2b891e7c052c',X'487C562655358745991DC241E32AFA77');
INSERT INTO "tocsin_links" VALUES('hand',19,'ended','a',40,60,NULL,X'6F6C1B3BF4E603D5AC4FD9029150F969');
INSERT INTO "tocsin_links" VALUES('hand',20,'ended','a',20,40,NULL,X'D882368019556DEDCC93B5AF6846E723');
INSERT INTO "tocsin_links" VALUES('hand',21,'state','',0,1,'{"terms":["event",10,""],"shapes":"6c2a4950517306d2001b2b7507a0de77","base":[0,"9485a8f4309cc5fd4aba5d413500b005"],"compacted":[null,0],"left":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"d054928cfce3e324b25ad1aed7142c79","decided":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","pins":"9d22829dceba076b74b92e2576871386"}',X'102CDBEBB9D18A0C0C78BD70CC6ECAC6');
INSERT INTO "tocsin_links" VALUES('user',54,'state','',0,1,'{"terms":["user",6500000000000,"tumbling windows of 2 hours"],"shapes":"ed44a948def309c8d567127c17f77a82","base":[22,"f9abd799d0596093fb9b7544176c6781"],"compacted":[7200000,0],"left":"1f46742b3aa170810d5876d309fab0bb","adopted":"7ebb3c7c2a87b1a2f8a7ed729ecb040d","queries":"5546df9a9250413455ee3ff24baedee1","decided":"f7e990c23f75af04728fd5b24da1ecf8","pins":"9d22829dceba076b74b92e2576871386"}',X'4B55486CD76732F0DF694A81BD8CCA17');
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
	digest BLOB NOT NULL, 
	PRIMARY KEY (feed, partition, time_ms)
);
INSERT INTO "tocsin_marks" VALUES('feed',0,60000,17,X'FCCF56DB0310DB89');
INSERT INTO "tocsin_marks" VALUES('feed',1,60000,21,X'262B6B500A0DC599');
CREATE TABLE tocsin_noisy (
	"query" TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	kept_from_ms BIGINT NOT NULL, 
	counts BLOB NOT NULL, 
	PRIMARY KEY ("query", start_ms, end_ms), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
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
INSERT INTO "tocsin_partials" VALUES('b',20,40,1,'f1','topic-1',1,4,X'00000000000000000100000000000000',X'02000000000000000000000000000000',7,9,'f24244bd9596ffa64b72696b79888d66',1);
CREATE TABLE tocsin_places (
	feed TEXT NOT NULL, 
	partition INTEGER NOT NULL, 
	log_offset BIGINT NOT NULL, 
	stand TEXT NOT NULL, 
	still_since_ms BIGINT NOT NULL, 
	seen_ms BIGINT NOT NULL, 
	PRIMARY KEY (feed, partition)
);
CREATE TABLE tocsin_queries (
	"query" TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	feed TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	cursor_ms BIGINT NOT NULL, 
	effective_from_ms BIGINT, 
	retired BOOLEAN NOT NULL, 
	placed_ms BIGINT NOT NULL, 
	PRIMARY KEY ("query"), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_queries" VALUES('band','user','badges','34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500','{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"tolerances":[0,0]},"band":{"decider":"tight","epsilon":"1/4","references":"32c896187dc58b4f747f166ef11e6344c1f3088b3db41c51ab44dfb34474a1d5","tau":20},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"e517b919371baf18e51b2786ba35ab9178036f58bdde73d777f0e7c4b3dc4919","statistic":0},{"atom":"a2","sha256":"2ae882bdd85d121dee1dadd7030c39714f4bf70205da5ddb73615f88d45776f3","statistic":0}],"cells":3,"formula":"a1 OR NOT a2","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"decider","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"band","schema":3,"where":null}',21600000,NULL,0,0);
INSERT INTO "tocsin_queries" VALUES('crowd','user','badges','0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121','{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"tolerances":[5]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"7cc0d5de4f06307066a92e8207a68c16051cae350ab89b785dc25c196cabc0ec","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"tslm","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"crowd","schema":3,"where":null}',21600000,14400000,0,0);
INSERT INTO "tocsin_queries" VALUES('levels','user','badges','7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04','{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"tolerances":[6]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"b7603fffa56c1ac3ddbdb145e56d3f8c2e18886f20b15c5379ea8252ae553855","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"ppwlm","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"levels","schema":3,"where":null}',14400000,NULL,1,0);
INSERT INTO "tocsin_queries" VALUES('run','user','badges','d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf','{"aggregates":[{"above":1,"field":null,"granule":null,"hi":0,"kind":"count","lo":0,"not_above":0,"pivots":null,"scale":1,"where":null}],"aim":{"alarms":2,"first_tolerances":[],"max_fnr":"1/20","max_fpr":null,"monotone":true,"put_back":false,"questions":1,"terms":[581426755521,379819310106,-3],"tolerances":[9]},"calendar":{"active":null,"size_ms":3600000,"step_ms":3600000},"condition":{"atoms":[{"atom":"a1","sha256":"b4e6b12b60deb6ad475dea1e5879362ca5c31e3db11d2bea18f30e1ce9807682","statistic":0}],"cells":3,"formula":"a1","sensitivities":[2]},"domain":[{"field":"room","sha256":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","size":3}],"feed":{"allowed_skew_ms":60000,"broker_skew_ms":1000,"clock":"append_time","codec":"json","fields":{"age":{"domain":null,"granule":"1/1","hi":"90/1","lo":"0/1","type":"integer"},"event":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"open":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"boolean"},"owed":{"domain":null,"granule":"1/1","hi":"6/1","lo":"-9/1","type":"integer"},"paid":{"domain":null,"granule":"1/2","hi":"50/1","lo":"0/1","type":"float"},"person":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"string"},"room":{"domain":"04ce7039ad7e932ae0a5df908e36b6f6522283261cfbded38883faf041b4e69b","granule":null,"hi":null,"lo":null,"type":"string"},"ts":{"domain":null,"granule":null,"hi":null,"lo":null,"type":"timestamp"}},"id":null,"name":"badges","partitioner":"murmur2","punctuation_ms":60000,"time":"ts","topic":"building.badges","unit":"person"},"grace_ms":30000,"mechanism":"svt","privacy":{"events_per_cell":2,"period":{"active":null,"size_ms":7200000,"step_ms":7200000},"predicates_per_window":2,"unit":"user"},"query":"run","schema":3,"where":null}',21600000,NULL,0,0);
INSERT INTO "tocsin_queries" VALUES('a','hand','feed','f1','{}',60,NULL,0,60);
INSERT INTO "tocsin_queries" VALUES('b','hand','feed','f1','{}',20,NULL,0,0);
INSERT INTO "tocsin_queries" VALUES('c','hand','feed','f1','{}',20,NULL,0,20);
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
INSERT INTO "tocsin_runs" VALUES('run','d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf','[14400000]',581426755521,379819310106,0,2,14400000,14400000,X'9601000002CF000000875FBC37C1C400');
CREATE TABLE tocsin_scopes (
	scope TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	epsilon_max_units BIGINT NOT NULL, 
	period TEXT NOT NULL, 
	frontier_end_ms BIGINT, 
	frontier_query TEXT, 
	frontier_start_ms BIGINT, 
	settled_worst_units BIGINT NOT NULL, 
	chain_link BIGINT NOT NULL, 
	chain_hash BLOB NOT NULL, 
	base_link BIGINT NOT NULL, 
	base_hash BLOB NOT NULL, 
	compacted_before_ms BIGINT, 
	compacted_worst_units BIGINT NOT NULL, 
	promise TEXT, 
	PRIMARY KEY (scope)
);
INSERT INTO "tocsin_scopes" VALUES('user','user',6500000000000,'tumbling windows of 2 hours',21600000,'run',18000000,0,54,X'4B55486CD76732F0DF694A81BD8CCA17',22,X'F9ABD799D0596093FB9B7544176C6781',7200000,0,NULL);
INSERT INTO "tocsin_scopes" VALUES('hand','event',10,'',60,'c',40,5,21,X'102CDBEBB9D18A0C0C78BD70CC6ECAC6',0,X'9485A8F4309CC5FD4ABA5D413500B005',NULL,0,NULL);
CREATE TABLE tocsin_sequences (
	"query" TEXT NOT NULL, 
	last_sequence BIGINT NOT NULL, 
	hash BLOB NOT NULL, 
	base_sequence BIGINT NOT NULL, 
	base_hash BLOB NOT NULL, 
	moved_sequence BIGINT NOT NULL, 
	moved_hash BLOB NOT NULL, 
	archives_digest BLOB NOT NULL, 
	PRIMARY KEY ("query")
);
INSERT INTO "tocsin_sequences" VALUES('band',6,X'535B55AA4F6B41ED91487F92BBDEB60E',2,X'1A2FF3A8541D9C27EC80F0C744897984',0,X'',X'');
INSERT INTO "tocsin_sequences" VALUES('crowd',6,X'C5617F2C0E42DE4AA9BCB8FC1A1E0C9A',2,X'12AA2651CC33071A0915AA78B1B5145D',0,X'',X'');
INSERT INTO "tocsin_sequences" VALUES('levels',4,X'2C7A1AC616F6BD2CC6E3236794BAB5CA',2,X'9E5DAD782292A9ECECA5B011B9806D17',0,X'',X'');
INSERT INTO "tocsin_sequences" VALUES('run',6,X'860F4E6E62DB6D7171B717005298EFDF',2,X'08F69058C536D5F3CC9F111BBC335B48',0,X'',X'');
INSERT INTO "tocsin_sequences" VALUES('a',5,X'9DA27D36A9F535C981DBCA338ADECFA1',0,X'',0,X'',X'');
INSERT INTO "tocsin_sequences" VALUES('b',1,X'BB4CF1E66B5BEFB1BB4FA1839A32F8A3',0,X'',0,X'',X'');
INSERT INTO "tocsin_sequences" VALUES('c',1,X'6CA2DE3C9E6A40E1B5F1CDB7EAFA18A3',0,X'',0,X'',X'');
CREATE TABLE tocsin_shapes (
	"query" TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	region TEXT NOT NULL, 
	grouping TEXT NOT NULL, 
	PRIMARY KEY ("query", fingerprint), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
INSERT INTO "tocsin_shapes" VALUES('crowd','3e2e7740dbdd284f40a1b397d1a21c7253a05c1bed4b728f3737e74758373aa8','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO "tocsin_shapes" VALUES('levels','7227c2180f78967a94a33ddbd142fe2dc35d90cd01d1f160ba5f40556225cb04','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO "tocsin_shapes" VALUES('run','d630a3a3f7383abf6255d3c3b3e1d12d6b73e763a68f22a9ca96ccefe3b62edf','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO "tocsin_shapes" VALUES('band','34473beb125c177d4ef6f6781368b7f7aea86f80ad5633fca56fb1e797b4c500','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO "tocsin_shapes" VALUES('crowd','0122db4faedb3fe0d7cb26a1632aec1b75a263814780cab1e661afef0d25c121','{"badges.room":{"strings":["attic","hall","lab"]},"feed":{"strings":["badges"]}}','{"name":"02e05a4e04447a91592b4c5e30ceb78b","by":[["badges.room",[{"strings":["attic"]},{"strings":["hall"]},{"strings":["lab"]}]]]}');
INSERT INTO "tocsin_shapes" VALUES('a','f1','{}','by a');
INSERT INTO "tocsin_shapes" VALUES('b','f1','{}','by b');
INSERT INTO "tocsin_shapes" VALUES('c','f1','{}','by c');
CREATE TABLE tocsin_shares (
	"query" TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	share_units BIGINT NOT NULL, 
	PRIMARY KEY ("query"), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query"), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
CREATE TABLE tocsin_tallies (
	"query" TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	windows BIGINT NOT NULL, 
	last_ms BIGINT NOT NULL, 
	PRIMARY KEY ("query", outcome, reason), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
INSERT INTO "tocsin_tallies" VALUES('band','decided','',6,1767225600000);
INSERT INTO "tocsin_tallies" VALUES('crowd','decided','',4,1767225600000);
INSERT INTO "tocsin_tallies" VALUES('levels','decided','',2,1767225600000);
INSERT INTO "tocsin_tallies" VALUES('run','decided','',4,1767225600000);
INSERT INTO "tocsin_tallies" VALUES('crowd','denied','budget',2,1767225600000);
INSERT INTO "tocsin_tallies" VALUES('levels','denied','budget',2,1767225600000);
INSERT INTO "tocsin_tallies" VALUES('run','denied','budget',2,1767225600000);
INSERT INTO "tocsin_tallies" VALUES('a','decided','',1,1767225600000);
INSERT INTO "tocsin_tallies" VALUES('b','denied','incomplete',1,1767225600000);
CREATE TABLE tocsin_totals (
	scope TEXT NOT NULL, 
	period_ms BIGINT NOT NULL, 
	held_units BIGINT NOT NULL, 
	final_units BIGINT NOT NULL, 
	PRIMARY KEY (scope, period_ms), 
	FOREIGN KEY(scope) REFERENCES tocsin_scopes (scope)
);
INSERT INTO "tocsin_totals" VALUES('user',0,5539900575355,5539900575355);
INSERT INTO "tocsin_totals" VALUES('user',7200000,5539900575355,5539900575355);
INSERT INTO "tocsin_totals" VALUES('user',14400000,5411178833061,5411178833061);
CREATE TABLE tocsin_used (
	"query" TEXT NOT NULL, 
	partition INTEGER NOT NULL, 
	start_ms BIGINT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	topic_id TEXT NOT NULL, 
	state BLOB NOT NULL, 
	digest BLOB NOT NULL, 
	PRIMARY KEY ("query", partition, start_ms), 
	FOREIGN KEY("query") REFERENCES tocsin_queries ("query")
);
CREATE TABLE tocsin_writers (
	writer TEXT NOT NULL, 
	releases BIGINT NOT NULL, 
	started_ms BIGINT NOT NULL, 
	PRIMARY KEY (writer)
);
CREATE INDEX tocsin_adopted_by_end ON tocsin_adopted (scope, end_ms);
CREATE INDEX tocsin_adopted_by_window ON tocsin_adopted ("query", start_ms);
CREATE INDEX tocsin_links_by_window ON tocsin_links ("query", start_ms, end_ms);
CREATE INDEX tocsin_links_told ON tocsin_links (scope, link) WHERE told IS NOT NULL;
CREATE INDEX tocsin_charges_by_end ON tocsin_charges (scope, end_ms);
CREATE INDEX tocsin_charges_capped ON tocsin_charges (scope, end_ms) WHERE windows_per_period IS NOT NULL;
CREATE INDEX tocsin_charges_pending ON tocsin_charges (scope) WHERE state = 'pending';
CREATE INDEX tocsin_charges_open ON tocsin_charges (scope) WHERE state = 'reserved';
CREATE INDEX tocsin_decisions_outbox ON tocsin_decisions ("query", sequence) WHERE NOT published;
COMMIT;
