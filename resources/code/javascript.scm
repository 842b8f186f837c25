(class_declaration name: (identifier) @name) @definition
(function_declaration name: (identifier) @name) @definition
(generator_function_declaration name: (identifier) @name) @definition
(method_definition name: (property_identifier) @name) @definition
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (class)])) @definition)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (class)])) @definition))
