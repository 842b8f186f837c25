(class name: (_) @name) @definition
(module name: (_) @name) @definition
(method name: (_) @name) @definition
(singleton_method name: (_) @name) @definition
