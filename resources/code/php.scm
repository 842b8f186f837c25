(namespace_definition name: (_) @name) @definition
(class_declaration name: (name) @name) @definition
(interface_declaration name: (name) @name) @definition
(trait_declaration name: (name) @name) @definition
(enum_declaration name: (name) @name) @definition
(function_definition name: (name) @name) @definition
(method_declaration name: (name) @name) @definition
