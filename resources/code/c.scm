(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition
(struct_specifier name: (type_identifier) @name body: (_)) @definition
(union_specifier name: (type_identifier) @name body: (_)) @definition
(enum_specifier name: (type_identifier) @name body: (_)) @definition
(type_definition declarator: (type_identifier) @name) @definition
